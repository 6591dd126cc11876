"""The rules that look at what is assigned to a key (spec 5.4)."""

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
    code_at,
    is_kept,
    opening_at,
    value_at,
)

_NAME = r"[A-Za-z0-9_.-]"
_ASSIGNED = (
    rf"(?P<key>{_NAME}++)(?P<closing>\\*+[\"'`]\]?)?+[ \t]*+(?P<separator>=>|:=|==?|:(?!:))[ \t]*+"
    rf"|(?P<flag>--?[A-Za-z0-9]{_NAME}*+)[ \t]++(?=[^\s=:-])"
)
# A replacement token is stepped over as a whole.
_NEXT = re.compile(rf"{PATTERN}|(?<!{_NAME})(?:{_ASSIGNED})")
_HERE = re.compile(_ASSIGNED)  # where a window begins inside a key
_INSIDE = re.compile(rf"(?<={_NAME}){_NAME}")
# What may stand before the first key of a line: indentation, and marks of lists, quotes and diffs.
_LEAD = re.compile(r"\+?[ \t]*(?:[-><] [ \t]*)*")
_UNEXPECTED = re.compile(r"(?i:unexpected)[ \t]+[\"'`]?$")
_BASE64 = re.compile(r"(?=[A-Za-z0-9+/=]{8})[A-Za-z0-9+/]++={0,2}")
_PLAIN_FLAG = re.compile(r"[a-z]{0,15}")

AUTHORIZATION = rules.ORDER["authorization"]
BASIC = rules.ORDER["basic"]
ASSIGNMENT = rules.ORDER["assignment"]
HIGH_ENTROPY = rules.ORDER["high_entropy"]


def is_basic(text: str) -> bool:
    """Whether base64 decodes to printable ASCII with a colon."""
    try:
        decoded = base64.b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))
    except ValueError:  # binascii.Error, or a character beyond ASCII
        return False
    return b":" in decoded and all(0x20 <= byte <= 0x7E for byte in decoded)


def assigned(text: str, start: int, limit: int, first: bool) -> Iterator[Span]:
    """Spans of values in text[start:limit].  first: the text begins a line."""
    lead = _LEAD.match(text, start, limit) if first else None
    begins = lead.end() if lead else -1
    position, runs = start, Runs(text, limit)
    while found := _found(text, position, limit):
        position = found.end()
        name = found["key"] or found["flag"]
        if name is None or _is_plain(text, key := key_of(name), position, limit):
            continue
        spans, position = _value(text, found, key, limit, begins, runs)
        yield from spans


def _found(text: str, position: int, limit: int) -> re.Match[str] | None:
    if _INSIDE.match(text, position, limit) and (found := _HERE.match(text, position, limit)):
        return found
    return _NEXT.search(text, position, limit)


def _is_plain(text: str, key: Key, start: int, limit: int) -> bool:
    """Whether the value cannot be a secret: told quickly of most, so that few are read."""
    if key.role is Role.PLAIN and (key.public or not may_be_run(text, start, limit)):
        return True
    return text.startswith(OPENING, start) and TOKEN.match(text, start) is not None


def _value(
    text: str, found: re.Match[str], key: Key, limit: int, begins: int, runs: Runs
) -> tuple[list[Span], int]:
    """The span of one value, if it has one, and where reading goes on.

    The end of a value is only looked for when it is a secret: so no text is read again and again.
    """
    start = found.end()
    opening = opening_at(text, start, limit)
    content = opening.end() if opening else start
    if TOKEN.match(text, content):
        return [], content
    if not _is_secret(text, found, key, content):
        return _opaque(text, key, content, limit, runs) or ([], start)
    if opening is None and (after := code_at(text, start, limit)):
        return [], after
    value = value_at(text, start, limit, _place(text, found, key, begins), opening)
    shown = text[value.start : value.end]
    if is_kept(shown) or (found["flag"] and _PLAIN_FLAG.fullmatch(shown)):
        return [], value.after
    rule = AUTHORIZATION if key.role is Role.HEADER else ASSIGNMENT
    return [Span(value.start, value.end, rule)], value.after


def _place(text: str, found: re.Match[str], key: Key, begins: int) -> SpanContext:
    at = found.start()
    before = text[at - 1 : at] if at else ""
    leads = at == begins
    closing = found["closing"] is not None
    if key.role is Role.HEADER:
        until = None if leads else QUOTES.get(before, ANY_QUOTE)
        return SpanContext(True, until)
    free = leads and found["separator"] == ":" and not closing
    return SpanContext(free, None, closing, before in ("?", "&"))


def _is_secret(text: str, found: re.Match[str], key: Key, content: int) -> bool:
    """Whether the value of this key is a secret whatever it looks like."""
    match key.role:
        case Role.SECRET:
            # `PASS: test` is a verdict that test runners print.
            return not (found["key"] == "PASS" and found["separator"] == ":")
        case Role.TOKEN:
            return not _UNEXPECTED.search(text, max(0, found.start() - 24), found.start())
        case Role.DIRECTORY:
            return not names_path(text, content)
        case role:
            return role is Role.HEADER


def _opaque(
    text: str, key: Key, start: int, limit: int, runs: Runs
) -> tuple[list[Span], int] | None:
    found = _BASE64.match(text, start, limit) if key.role is Role.BASIC else None
    if found and is_basic(found[0]):
        return [Span(*found.span(), BASIC)], found.end()
    if not key.public and (end := runs.random_until(start)):
        return [Span(start, end, HIGH_ENTROPY)], end
    return None
