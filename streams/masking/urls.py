"""Detection of passwords and tokens in URLs (SAOP guide, 5.4, `url_credentials`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from streams.masking import rules
from streams.masking.tokens import TOKEN, Span

MIN_TOKEN_LENGTH = 16  # characters of a user name that counts as a token
_RULE = rules.ORDER["url_credentials"]
_SCHEME = re.compile(r"(?P<web>(?:[A-Za-z0-9+.-]*\+)?https?)$|[A-Za-z][A-Za-z0-9+.-]*$", re.I)
_SLASHES = re.compile(r":\\*+/\\*+/")
_AUTHORITY = re.compile(r"[^/?#\s\"'`<>]*+")
_WORD = re.compile(r"[^\s\"'`<>]*+")
_PORT = re.compile(r"[^:]*+(?::[0-9]{0,5}(?:\\*+))?")


def url_credentials(text: str, start: int, limit: int) -> Iterator[Span]:
    word_end = last_at = -1  # of the word at the position
    position = start
    while slashes := _SLASHES.search(text, position, limit):
        position = slashes.end()
        scheme = _SCHEME.search(text, max(start, slashes.start() - 32), slashes.start())
        if scheme is None or TOKEN.match(text, position):
            continue
        authority = _AUTHORITY.match(text, position, limit)
        end = authority.end() if authority else position
        at = text.rfind("@", position, end)
        if at < 0 and _has_password(text[position:end]):
            if word_end < position:
                word = _WORD.match(text, position, limit)
                word_end = word.end() if word else position
                last_at = text.rfind("@", position, word_end)
            at = last_at if last_at >= position else -1
        if at > position and _is_secret(text[position:at], scheme["web"] is not None):
            yield Span(position, at, _RULE)
            position = at


def _has_password(authority: str) -> bool:
    """Return whether there is a colon that no port follows."""
    return not authority.startswith("[") and not _PORT.fullmatch(authority)


def _is_secret(user_info: str, web: bool) -> bool:
    name, _, password = user_info.partition(":")
    return bool(password) or (web and len(name) >= MIN_TOKEN_LENGTH)
