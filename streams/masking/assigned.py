"""The rules for values that are assigned to a key (SAOP guide, 5.4)."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

from streams.masking import rules
from streams.masking.entropy import Runs, may_be_run
from streams.masking.keys import Key, Role, key_of, names_path
from streams.masking.tokens import OPENING, PATTERN, TOKEN, Span
from streams.masking.values import (
    ANY_QUOTE,
    QUOTES,
    SpanContext,
    code_end,
    is_no_secret,
    opening_at,
    value_at,
)

_NAME = r"[A-Za-z0-9_.-]"
_ASSIGNED = (
    rf"(?P<key>{_NAME}++)(?P<closing>\\*+[\"'`]\]?)?+[ \t]*+(?P<separator>=>|:=|==?|:(?!:))[ \t]*+"
    rf"|(?P<flag>--?[A-Za-z0-9]{_NAME}*+)[ \t]++(?=[^\s=:-])"
)
# A replacement token is skipped as a whole.
_NEXT = re.compile(rf"{PATTERN}|(?<!{_NAME})(?:{_ASSIGNED})")
_HERE = re.compile(_ASSIGNED)  # for a window that begins inside a key
_INSIDE = re.compile(rf"(?<={_NAME}){_NAME}")
# Allowed before the first key of a line: indentation, and marks of lists, quotes and diffs.
_LEAD = re.compile(r"\+?[ \t]*(?:[-><] [ \t]*)*")
_UNEXPECTED = re.compile(r"(?i:unexpected)[ \t]+[\"'`]?$")
_BASE64 = re.compile(r"(?=[A-Za-z0-9+/=]{8})[A-Za-z0-9+/]++={0,2}")
_PLAIN_FLAG = re.compile(r"[a-z]{0,15}")

AUTHORIZATION = rules.ORDER["authorization"]
BASIC = rules.ORDER["basic"]
ASSIGNMENT = rules.ORDER["assignment"]
HIGH_ENTROPY = rules.ORDER["high_entropy"]


def is_basic(text: str) -> bool:
    """Return whether base64 decodes to printable ASCII with a colon."""
    try:
        decoded = base64.b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))
    except ValueError:  # binascii.Error, or a character beyond ASCII
        return False
    return b":" in decoded and all(0x20 <= byte <= 0x7E for byte in decoded)


def assigned_secrets(text: str, start: int, limit: int, first: bool) -> Iterator[Span]:
    """Yield spans of secret values in text[start:limit].  first: the text begins a line."""
    lead = _LEAD.match(text, start, limit) if first else None
    begins = lead.end() if lead else -1
    position, runs = start, Runs(text, limit)
    while match := _next_key(text, position, limit):
        position = match.end()
        name = match["key"] or match["flag"]
        if name is None or _is_plain(text, key := key_of(name), position, limit):
            continue
        spans, position = _value_span(text, match, key, limit, begins, runs)
        yield from spans


def _next_key(text: str, position: int, limit: int) -> re.Match[str] | None:
    if _INSIDE.match(text, position, limit) and (match := _HERE.match(text, position, limit)):
        return match
    return _NEXT.search(text, position, limit)


def _is_plain(text: str, key: Key, start: int, limit: int) -> bool:
    """Return whether the value cannot be a secret; a cheap test that spares most values a scan."""
    if key.role is Role.PLAIN and (key.public or not may_be_run(text, start, limit)):
        return True
    return text.startswith(OPENING, start) and TOKEN.match(text, start) is not None


def _value_span(
    text: str, match: re.Match[str], key: Key, limit: int, begins: int, runs: Runs
) -> tuple[list[Span], int]:
    """Return the span of one value, if it is a secret, and the position to continue from.

    The end of a value is only looked for if it is a secret, so that no text is scanned repeatedly.
    """
    start = match.end()
    opening = opening_at(text, start, limit)
    content = opening.end() if opening else start
    if TOKEN.match(text, content):
        return [], content
    if not _is_secret(text, match, key, content):
        return _opaque_span(text, key, content, limit, runs) or ([], start)
    if opening is None and (after := code_end(text, start, limit)):
        return [], after
    value = value_at(text, start, limit, _context_of(text, match, key, begins), opening)
    content_text = text[value.start : value.end]
    if is_no_secret(content_text) or (match["flag"] and _PLAIN_FLAG.fullmatch(content_text)):
        return [], value.after
    rule = AUTHORIZATION if key.role is Role.HEADER else ASSIGNMENT
    return [Span(value.start, value.end, rule)], value.after


def _context_of(text: str, match: re.Match[str], key: Key, begins: int) -> SpanContext:
    at = match.start()
    before = text[at - 1 : at] if at else ""
    leads = at == begins
    closing = match["closing"] is not None
    if key.role is Role.HEADER:
        until = None if leads else QUOTES.get(before, ANY_QUOTE)
        return SpanContext(True, until)
    free = leads and match["separator"] == ":" and not closing
    return SpanContext(free, None, closing, before in ("?", "&"))


def _is_secret(text: str, match: re.Match[str], key: Key, content: int) -> bool:
    """Return whether the key alone makes its value a secret."""
    match key.role:
        case Role.SECRET:
            # Test runners print `PASS: test`.
            return not (match["key"] == "PASS" and match["separator"] == ":")
        case Role.TOKEN:
            return not _UNEXPECTED.search(text, max(0, match.start() - 24), match.start())
        case Role.DIRECTORY:
            return not names_path(text, content)
        case role:
            return role is Role.HEADER


def _opaque_span(
    text: str, key: Key, start: int, limit: int, runs: Runs
) -> tuple[list[Span], int] | None:
    match = _BASE64.match(text, start, limit) if key.role is Role.BASIC else None
    if match and is_basic(match[0]):
        return [Span(*match.span(), BASIC)], match.end()
    if not key.public and (end := runs.random_until(start)):
        return [Span(start, end, HIGH_ENTROPY)], end
    return None
