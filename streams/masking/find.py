"""The search for secrets in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from streams.masking import pem
from streams.masking.assigned import BASIC, assigned_secrets, is_basic
from streams.masking.rules import ALL, NO_LETTER_OR_DIGIT, ORDER, B, RuleKind
from streams.masking.tokens import Span, merge_spans
from streams.masking.triggers import is_suspect, suspected_in
from streams.masking.urls import url_credentials

WINDOW, OVERLAP = 65_536, 8_192  # characters
_TO_WORD_END = re.compile(r"[^\s\"'`]*+")


class Pattern(NamedTuple):
    """A pattern of a rule.  loose: the same without its boundary, None if it has no boundary."""

    rule: int
    exact: re.Pattern[str]
    loose: re.Pattern[str] | None
    group: int


def _compile(rule: int, pattern: str) -> Pattern:
    bare = pattern.removeprefix(B).removeprefix(NO_LETTER_OR_DIGIT)
    exact = re.compile(pattern)
    loose = re.compile(bare) if bare != pattern else None
    return Pattern(rule, exact, loose, exact.groupindex.get("secret", 0))


PATTERNS = {
    number: [_compile(number, pattern) for pattern in rule.patterns]
    for number, rule in enumerate(ALL)
}
CHAINED = "gsrpnhSA"  # first characters of the patterns with a boundary
LOOSE = [pattern for of in PATTERNS.values() for pattern in of if pattern.loose]
KEYED = {number for number, rule in enumerate(ALL) if rule.kind is RuleKind.KEY} | {BASIC}
URL = ORDER["url_credentials"]


def _matches(text: str, start: int, limit: int, pattern: Pattern, loose: bool) -> Iterator[Span]:
    compiled = pattern.loose if loose and pattern.loose else pattern.exact
    for match in compiled.finditer(text, start, limit):
        span = match.span(pattern.group)
        if span[0] >= 0 and (pattern.rule != BASIC or is_basic(match[pattern.group])):
            yield Span(*span, pattern.rule)


def _window_spans(
    text: str, start: int, limit: int, first: bool, loose: bool, disabled: frozenset[int]
) -> list[Span]:
    """Return the matches of all rules between two positions, not merged."""
    suspected = suspected_in(text[start:limit])
    spans: list[Span] = []
    for rule in suspected:
        for pattern in PATTERNS[rule]:
            spans += _matches(text, start, limit, pattern, loose)
    if URL in suspected:
        spans += url_credentials(text, start, limit)
    if suspected & KEYED:
        spans += assigned_secrets(text, start, limit, first)
    return without(spans, disabled)


def without(spans: list[Span], disabled: frozenset[int]) -> list[Span]:
    """Return the spans but those of disabled rules."""
    return [span for span in spans if span.rule not in disabled] if disabled else spans


def _add_chained(
    text: str, spans: list[Span], stop: int, limit: int, disabled: frozenset[int]
) -> list[Span]:
    """Add the secrets that begin at the end of a span, where the token will make a boundary.

    Those that begin at `stop` or later are ignored.
    """
    chained: list[Span] = []
    for span, following in pairwise([*spans, Span(stop, stop, -1)]):
        chained.append(span)
        while chained[-1].end < min(following.start, stop):
            following_span = _match_loose(text, chained[-1].end, limit, disabled)
            if following_span is None:
                break
            chained.append(following_span)
    return merge_spans(chained) if len(chained) > len(spans) else spans


def _match_loose(text: str, start: int, limit: int, disabled: frozenset[int]) -> Span | None:
    if text[start] in CHAINED:
        for pattern in LOOSE:
            if pattern.rule in disabled:
                continue
            if pattern.loose and (match := pattern.loose.match(text, start, limit)):
                return Span(start, match.end(), pattern.rule)
    return None


def _piece_spans(
    text: str, start: int, limit: int, first: bool, loose: bool, disabled: frozenset[int]
) -> list[Span]:
    """Return the spans of a line, or of a part between block marks, searched in windows."""
    if limit - start <= WINDOW:
        window = _window_spans(text, start, limit, first, loose, disabled)
        return _add_chained(text, merge_spans(window), limit, limit, disabled)
    spans: list[Span] = []
    for at in range(start, limit - OVERLAP, WINDOW - OVERLAP):
        end = min(at + WINDOW, limit)
        if spans and spans[-1].start < at:
            spans[-1] = _to_word_end(text, spans[-1], at + OVERLAP, limit)
        again = _pop_from(spans, at)
        begin = max(at, spans[-1].end) if spans else at
        new = _window_spans(text, begin, end, first and at == start, loose, disabled)
        if again and not any(span.start <= again[-1].start < span.end for span in new):
            again[-1] = _to_word_end(text, again[-1], at + OVERLAP, limit)
        spans += _add_chained(text, merge_spans([*again, *new]), end, limit, disabled)
    return spans


def _to_word_end(text: str, span: Span, end: int, limit: int) -> Span:
    """Extend a span that touches the end of a window to the next white space or quote.

    A span that begins in the overlap needs this only if the next window does not find it.
    """
    if span.end != end:
        return span
    word = _TO_WORD_END.match(text, end, limit)
    return span._replace(end=word.end() if word else end)


def _pop_from(spans: list[Span], at: int) -> list[Span]:
    """Remove and return the spans that begin at `at` or later."""
    count = len(spans)
    while count and spans[count - 1].start >= at:
        count -= 1
    removed = spans[count:]
    del spans[count:]
    return removed


def spans_of(
    text: str, prefix: int | None, loose: bool = False, disabled: frozenset[int] = frozenset()
) -> list[Span]:
    """Return the spans of secrets in one line, in order, without overlaps.

    prefix: the number of characters before the BEGIN of the open block; None if no block is open.
    loose: ignore the boundary before a match.  disabled: rules that find nothing.

    Source: SAOP guide, 4.7 and 5.4.
    """
    if prefix is None and not is_suspect(text):
        return []
    cuts, wholes = pem.marks(text)
    if prefix is not None and not cuts and not wholes and pem.is_body(text, prefix):
        return without([Span(0, len(text), pem.WHOLE)], disabled)
    wholes = without(wholes, disabled)
    spans, start, opened = [], 0, prefix is not None
    for cut in [*cuts, Span(len(text), len(text), -1)]:
        if opened and cuts and pem.has_run(text[start : cut.start]):
            spans.append(Span(start, cut.start, pem.WHOLE))
        elif start < cut.start:
            inside = [whole for whole in wholes if start <= whole.start < cut.start]
            spans += merge_spans(
                [*_piece_spans(text, start, cut.start, start == 0, loose, disabled), *inside]
            )
        spans += [cut] if cut.rule >= 0 else []
        start, opened = cut.end, False
    return without(spans, disabled)
