"""Detection of the end of a key's value, and of values that are no secret (SAOP guide, 5.4)."""

from __future__ import annotations

import re
from typing import NamedTuple

from streams.masking import vocabulary

# One or three quotes after any number of backslashes; some languages have a prefix before them.
_OPENING = re.compile(
    r"(?:[bBrRuUfF]{1,2}|[$@])?"
    r"(?P<unit>(?P<escapes>\\*+)(?P<quote>[\"'`]))(?P<more>(?P=unit){2})?+"
)
QUOTES = {quote: re.compile(rf"(?<!\\)(\\*+){quote}") for quote in "\"'`"}
ANY_QUOTE = re.compile(r"(?<!\\)\\*+[\"'`]")


def _up_to(also: str) -> re.Pattern[str]:
    """Compile a pattern for text before white space, `;`, one of `also`, or an escaped quote."""
    return re.compile(rf"(?:[^\s\"'`;\\{also}]++|\\++(?![\"'`]))*+")


_BARE, _IN_JSON, _IN_QUERY = _up_to(""), _up_to(r",}\]"), _up_to("&#")

_NO_SECRET = re.compile(
    rf"(?i:{'|'.join(vocabulary.LITERALS)})"
    r"|[*•xX.]+"
    r"|[!-/:-@\[-`{-~…\s]*"
    r"|\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9])"
    r"|\$\{[^{}]*\}|\$?\{\{[^{}]*\}\}|%[A-Za-z_][A-Za-z0-9_]*%"
    r"|<[A-Za-z0-9 _.,/'|-]*>"
)
# Types and literals in printed code, texts that tools print instead of a value, placeholders.
_CODE = re.compile(
    rf"&?(?:(?i:{'|'.join(vocabulary.TYPES)})|Optional\[[^\]]{{0,128}}\])(?=[ \t]*(?:[,)\];=|]|$))"
    rf"|\((?:{'|'.join(vocabulary.HIDDEN)})\)"
    r"|\$[A-Za-z_][A-Za-z0-9_]*(?=[,)\]};]+(?:\s|$))"
    r"|(?:<[A-Za-z][A-Za-z0-9 _-]{0,128}>|\$?\{\{[^{}]{0,128}\}\})(?=[\s\"'`,;)]|$)"
)
_ANNOTATED = re.compile(r"[A-Za-z]++(?:\[[^\]]{0,128}\])?[ \t]*=[ \t]*(?=[bBrRuUfF]{0,2}[\"'])")


class Value(NamedTuple):
    """The text of a value, without its quotes, and the position to continue from."""

    start: int
    end: int
    after: int


class SpanContext(NamedTuple):
    """The context of a value, as far as it determines where the value ends.

    free: it takes the remaining line.  until: a quote that ends a free value.
    """

    free: bool = False
    until: re.Pattern[str] | None = None
    quoted_key: bool = False
    query: bool = False


def _quoted(text: str, opening: re.Match[str], limit: int) -> Value:
    """Return the value up to the same quote behind r backslashes, r mod 2(n + 1) = n.

    Without such a quote it is the remaining text.  n: the number of backslashes before the opening.
    """
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
    """Match the opening quote of a value; a type may precede it (`key: str = "…"`)."""
    annotated = _ANNOTATED.match(text, start, limit)
    if annotated and _CODE.match(text, start, limit):
        start = annotated.end()
    return _OPENING.match(text, start, limit)


def value_at(
    text: str, start: int, limit: int, context: SpanContext, opening: re.Match[str] | None
) -> Value:
    """Return the value that begins at `start`; text from `limit` on is ignored."""
    if opening:
        return _quoted(text, opening, limit)
    if context.free:
        closing = context.until.search(text, start, limit) if context.until else None
        end = closing.start() if closing else limit
        return Value(start, start + len(text[start:end].rstrip()), end)
    if context.quoted_key and text[start : start + 1] in ("{", "["):
        return Value(start, start, start)
    pattern = _IN_JSON if context.quoted_key else _IN_QUERY if context.query else _BARE
    match = pattern.match(text, start, limit)
    end = match.end() if match else start
    if end > start and text[end - 1] == "(" and (literal := _OPENING.match(text, end, limit)):
        return _quoted(text, literal, limit)._replace(start=start)  # a call with a literal
    return Value(start, end, end)


def is_no_secret(content: str) -> bool:
    """Return whether a whole value is no secret: empty, a literal, a placeholder, punctuation."""
    return _NO_SECRET.fullmatch(content) is not None


def code_end(text: str, start: int, limit: int) -> int | None:
    """Return the end of the type, literal in code or placeholder at `start`, None without one."""
    match = _CODE.match(text, start, limit)
    return match.end() if match else None
