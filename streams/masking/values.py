"""Where the value of a key ends, and which values are no secret (spec 5.4)."""

from __future__ import annotations

import re
from typing import NamedTuple

from streams.masking import words

# A quote, or three, behind any number of backslashes; some languages put a prefix before it.
_OPENING = re.compile(
    r"(?:[bBrRuUfF]{1,2}|[$@])?"
    r"(?P<unit>(?P<escapes>\\*+)(?P<quote>[\"'`]))(?P<more>(?P=unit){2})?+"
)
QUOTES = {quote: re.compile(rf"(?<!\\)(\\*+){quote}") for quote in "\"'`"}
ANY_QUOTE = re.compile(r"(?<!\\)\\*+[\"'`]")


def _up_to(also: str) -> re.Pattern[str]:
    """All before white space, `;`, one of `also`, or a quote with its backslashes."""
    return re.compile(rf"(?:[^\s\"'`;\\{also}]++|\\++(?![\"'`]))*+")


_BARE, _IN_JSON, _IN_QUERY = _up_to(""), _up_to(r",}\]"), _up_to("&#")

_KEPT = re.compile(
    rf"(?i:{'|'.join(words.LITERALS)})"
    r"|[*•xX.]+"
    r"|[!-/:-@\[-`{-~…\s]*"
    r"|\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9])"
    r"|\$\{[^{}]*\}|\$?\{\{[^{}]*\}\}|%[A-Za-z_][A-Za-z0-9_]*%"
    r"|<[A-Za-z0-9 _.,/'|-]*>"
)
# Types and literals where code is printed, what tools print in place of a value, placeholders.
_CODE = re.compile(
    rf"&?(?:(?i:{'|'.join(words.TYPES)})|Optional\[[^\]]{{0,128}}\])(?=[ \t]*(?:[,)\];=|]|$))"
    rf"|\((?:{'|'.join(words.HIDDEN)})\)"
    r"|\$[A-Za-z_][A-Za-z0-9_]*(?=[,)\]};]+(?:\s|$))"
    r"|(?:<[A-Za-z][A-Za-z0-9 _-]{0,128}>|\$?\{\{[^{}]{0,128}\}\})(?=[\s\"'`,;)]|$)"
)
_ANNOTATED = re.compile(r"[A-Za-z]++(?:\[[^\]]{0,128}\])?[ \t]*=[ \t]*(?=[bBrRuUfF]{0,2}[\"'])")


class Value(NamedTuple):
    """The text of a value, without its quotes, and where reading goes on."""

    start: int
    end: int
    after: int


class SpanContext(NamedTuple):
    """Where a value stands, as far as it decides how the value ends.

    free: the rest of the line.  until: a quote that ends a free value.
    """

    free: bool = False
    until: re.Pattern[str] | None = None
    quoted_key: bool = False
    query: bool = False


def _quoted(text: str, opening: re.Match[str], limit: int) -> Value:
    """Up to the same quote behind r backslashes, r mod 2(n + 1) = n, else all."""
    n, start = len(opening["escapes"]), opening.end()
    if opening["more"]:
        three = opening["unit"] * 3
        end = text.find(three, start, limit)
        return Value(start, limit, limit) if end < 0 else Value(start, end, end + len(three))
    for closing in QUOTES[opening["quote"]].finditer(text, start, limit):
        if len(closing[1]) % (2 * (n + 1)) == n:
            return Value(start, closing.end() - 1 - n, closing.end())
    return Value(start, limit, limit)


def opening_at(text: str, start: int, limit: int) -> re.Match[str] | None:
    """The opening quote of a value; a type may stand before it (`key: str = "…"`)."""
    annotated = _ANNOTATED.match(text, start, limit)
    if annotated and _CODE.match(text, start, limit):
        start = annotated.end()
    return _OPENING.match(text, start, limit)


def value_at(
    text: str, start: int, limit: int, place: SpanContext, opening: re.Match[str] | None
) -> Value:
    """The value that begins at `start`; nothing from `limit` on is looked at."""
    if opening:
        return _quoted(text, opening, limit)
    if place.free:
        closing = place.until.search(text, start, limit) if place.until else None
        end = closing.start() if closing else limit
        return Value(start, start + len(text[start:end].rstrip()), end)
    if place.quoted_key and text[start : start + 1] in ("{", "["):
        return Value(start, start, start)
    pattern = _IN_JSON if place.quoted_key else _IN_QUERY if place.query else _BARE
    found = pattern.match(text, start, limit)
    end = found.end() if found else start
    if end > start and text[end - 1] == "(" and (literal := _OPENING.match(text, end, limit)):
        return _quoted(text, literal, limit)._replace(start=start)  # a call with a literal
    return Value(start, end, end)


def is_kept(content: str) -> bool:
    """Whether a whole value is no secret: empty, a literal, a placeholder, punctuation."""
    return _KEPT.fullmatch(content) is not None


def code_at(text: str, start: int, limit: int) -> int | None:
    """Where a type, a literal in code or a placeholder ends that begins at `start`."""
    found = _CODE.match(text, start, limit)
    return found.end() if found else None
