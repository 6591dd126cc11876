"""Finds what is replaced in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from streams.masking import pem
from streams.masking.assigned import BASIC, assigned, is_basic
from streams.masking.rules import ALL, NO_LETTER_OR_DIGIT, ORDER, B, RuleKind
from streams.masking.tokens import Span, merged
from streams.masking.triggers import is_suspect, suspected_in
from streams.masking.urls import url_credentials

WINDOW, OVERLAP = 65_536, 8_192  # characters
_TO_WORD_END = re.compile(r"[^\s\"'`]*+")


class Pattern(NamedTuple):
    """A pattern of a rule.  loose: the same without its boundary, if it has one."""

    rule: int
    exact: re.Pattern[str]
    loose: re.Pattern[str] | None
    group: int


def _compiled(rule: int, pattern: str) -> Pattern:
    bare = pattern.removeprefix(B).removeprefix(NO_LETTER_OR_DIGIT)
    exact = re.compile(pattern)
    loose = re.compile(bare) if bare != pattern else None
    return Pattern(rule, exact, loose, exact.groupindex.get("secret", 0))


PATTERNS = {
    number: [_compiled(number, pattern) for pattern in rule.patterns]
    for number, rule in enumerate(ALL)
}
CHAINED = "gsrpnhSA"  # with these the patterns begin that have a boundary
LOOSE = [pattern for of in PATTERNS.values() for pattern in of if pattern.loose]
KEYED = {number for number, rule in enumerate(ALL) if rule.kind is RuleKind.KEY} | {BASIC}
URL = ORDER["url_credentials"]


def _matches(text: str, start: int, limit: int, pattern: Pattern, loose: bool) -> Iterator[Span]:
    compiled = pattern.loose if loose and pattern.loose else pattern.exact
    for found in compiled.finditer(text, start, limit):
        span = found.span(pattern.group)
        if span[0] >= 0 and (pattern.rule != BASIC or is_basic(found[pattern.group])):
            yield Span(*span, pattern.rule)


def _window(text: str, start: int, limit: int, first: bool, loose: bool) -> list[Span]:
    """What the rules match between two positions, not merged."""
    suspected = suspected_in(text[start:limit])
    spans: list[Span] = []
    for rule in suspected:
        for pattern in PATTERNS[rule]:
            spans += _matches(text, start, limit, pattern, loose)
    if URL in suspected:
        spans += url_credentials(text, start, limit)
    if suspected & KEYED:
        spans += assigned(text, start, limit, first)
    return spans


def _chained(text: str, spans: list[Span], stop: int, limit: int) -> list[Span]:
    """With what begins right behind a span: once that is a token, a boundary stands before it.

    What begins at `stop` or later is not looked for.
    """
    found: list[Span] = []
    for span, following in pairwise([*spans, Span(stop, stop, -1)]):
        found.append(span)
        while found[-1].end < min(following.start, stop):
            behind = _loosely(text, found[-1].end, limit)
            if behind is None:
                break
            found.append(behind)
    return merged(found) if len(found) > len(spans) else spans


def _loosely(text: str, start: int, limit: int) -> Span | None:
    if text[start] in CHAINED:
        for pattern in LOOSE:
            if pattern.loose and (found := pattern.loose.match(text, start, limit)):
                return Span(start, found.end(), pattern.rule)
    return None


def _piece(text: str, start: int, limit: int, first: bool, loose: bool) -> list[Span]:
    """The spans of a line, or of a piece of one between the marks of blocks, in windows."""
    if limit - start <= WINDOW:
        return _chained(text, merged(_window(text, start, limit, first, loose)), limit, limit)
    spans: list[Span] = []
    for at in range(start, limit - OVERLAP, WINDOW - OVERLAP):
        end = min(at + WINDOW, limit)
        if spans and spans[-1].start < at:
            spans[-1] = _to_word_end(text, spans[-1], at + OVERLAP, limit)
        again = _pop_from(spans, at)
        begin = max(at, spans[-1].end) if spans else at
        new = _window(text, begin, end, first and at == start, loose)
        if again and not any(span.start <= again[-1].start < span.end for span in new):
            again[-1] = _to_word_end(text, again[-1], at + OVERLAP, limit)
        spans += _chained(text, merged([*again, *new]), end, limit)
    return spans


def _to_word_end(text: str, span: Span, end: int, limit: int) -> Span:
    """A span that touches the end of a window goes on to white space or a quote.

    Unless it began in the overlap, and the next window shows where it ends.
    """
    if span.end != end:
        return span
    word = _TO_WORD_END.match(text, end, limit)
    return span._replace(end=word.end() if word else end)


def _pop_from(spans: list[Span], at: int) -> list[Span]:
    """Takes off the spans that begin at `at` or later."""
    count = len(spans)
    while count and spans[count - 1].start >= at:
        count -= 1
    taken = spans[count:]
    del spans[count:]
    return taken


def spans_of(text: str, prefix: int | None, loose: bool = False) -> list[Span]:
    """What is replaced in one line, in order, without overlaps.

    prefix: how many characters stood before the BEGIN of the block that is open; None when none is.
    loose: without looking at what stands before a match.  Source: spec 4.7 and 5.4.
    """
    if prefix is None and not is_suspect(text):
        return []
    cuts, wholes = pem.marks(text)
    if prefix is not None and not cuts and not wholes and pem.is_body(text, prefix):
        return [Span(0, len(text), pem.WHOLE)]
    spans, start, opened = [], 0, prefix is not None
    for cut in [*cuts, Span(len(text), len(text), -1)]:
        if opened and cuts and pem.has_run(text[start : cut.start]):
            spans.append(Span(start, cut.start, pem.WHOLE))
        elif start < cut.start:
            inside = [whole for whole in wholes if start <= whole.start < cut.start]
            spans += merged([*_piece(text, start, cut.start, start == 0, loose), *inside])
        spans += [cut] if cut.rule >= 0 else []
        start, opened = cut.end, False
    return spans
