"""The upper part of the overview: figures, refusals by rule, and what needs attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.cli.cells import GAP, Cell
from streams.cli.overview_figures import (
    COUNTS,
    attention,
    bar,
    refused_rules,
    sparkline,
    summed,
)
from streams.cli.watch.lines import Line, LinesPage, beside

Json = Mapping[str, Any]
MIN_RULES = 4
"""So many rules fit a terminal of 24 lines."""
_SPARKLINE_WIDTH = 15
_BESIDE_SPARKLINE = len("duplicate") + len("100.0%") + 4 * GAP
_BAR_WIDTH, _NARROW_BAR_WIDTH = 12, 6
_NARROW = 48
_STYLES = {"accepted": "green", "duplicate": "yellow", "refused": "red"}
_EMPTY = (
    ("Nothing was decided in this window, and nothing is open.", ""),
    ("Send a first packet: headrace send apc.packets schemas/examples/apc/idea.json", "dim"),
)


def overview_lines(overview: Json, width: int, max_rules: int = MIN_RULES) -> list[Line]:
    """Return the figures, and below them rules and what needs attention side by side."""
    half = width // 2
    figures = beside(_counts(overview, half), _state(overview, width - half), half)
    if is_empty(overview):
        return [*figures, [], *([Cell(*words)] for words in _EMPTY)]
    rules = _rules(overview, half, max_rules)
    urgent = _attention(overview, width - half, max_rules)
    return [*figures, [], *beside(rules, urgent, half)]


def is_empty(overview: Json) -> bool:
    """Return whether there is nothing to see: no verdict, no event, nothing open or urgent."""
    seen = (overview["commands"], any(overview["events"].values()), overview["open"])
    return not any(seen) and not attention(overview)


def _counts(overview: Json, width: int) -> list[Line]:
    page = LinesPage(width)
    total = overview["commands"]
    counts_width = max(page.number(overview[member]).width for _, member, _ in COUNTS)
    room = width - _BESIDE_SPARKLINE - counts_width
    sparkline_width = max(1, min(_SPARKLINE_WIDTH, room))
    rows = [
        (
            Cell(word, _STYLES.get(word, "bold")),
            page.number(overview[member], "bold"),
            Cell(
                f"{overview[member] / total:.1%}" if total and word != "commands" else "",
                "dim",
                right=True,
            ),
            Cell(
                sparkline(condensed(summed(overview["series"], verdicts), sparkline_width)),
                _STYLES.get(word, ""),
            ),
        )
        for word, member, verdicts in COUNTS
    ]
    page.table(("", "", "", ""), rows)
    return page.lines[1:]


def _share(count: int, total: int) -> Cell:
    return Cell(f"{count / total:.1%}" if total else "", "dim", right=True)


def condensed(counts: Sequence[int], width: int) -> list[int]:
    """Return the sums of neighbouring counts, so that there are at most `width`."""
    size = -(-len(counts) // width) or 1
    return [sum(counts[first : first + size]) for first in range(0, len(counts), size)]


def _state(overview: Json, width: int) -> list[Line]:
    page = LinesPage(width)
    events, cache, lag = overview["events"], overview["cache"], overview["lag"]
    letters = sum(each["count"] for each in overview["dead_letters"])
    behind = sum(each["records"] for each in lag["processors"])
    page.members(
        {
            "events": page.message(
                f"{events['recorded']:,}, {events['duplicate']:,} duplicate,"
                f" {events['rejected']:,} refused"
            ),
            "cache": page.message(
                f"{cache['hits']:,} hits of {cache['lookups']:,}, {cache['stored']:,} stored"
            ),
            "dead letters": page.message(f"{letters:,}", "red" if letters else ""),
            "behind": page.message(f"processors {behind:,}, view {lag['view']:,}"),
        }
    )
    return page.lines


def _rules(overview: Json, width: int, limit: int) -> list[Line]:
    page = LinesPage(width - 2)
    rules = refused_rules(overview, ("rejected",), limit)
    greatest = max((each["count"] for each in rules), default=0)
    bar_width = _BAR_WIDTH if width >= _NARROW else _NARROW_BAR_WIDTH
    rows = [
        (
            page.plain(each["rule"])._replace(flexible=True),
            page.plain(each["protocol"], "dim"),
            page.number(each["count"]),
            Cell(bar(each["count"], greatest, bar_width), "red"),
        )
        for each in rules
    ]
    page.line(Cell("refused by rule", "bold"))
    page.table(("", "", "", ""), rows)
    return [page.lines[0], *(page.lines[2:] or [[Cell("nothing was refused", "dim")]])]


def _attention(overview: Json, width: int, limit: int) -> list[Line]:
    page = LinesPage(width)
    sentences = attention(overview)
    page.line(Cell("needs attention", "bold yellow" if sentences else "bold"))
    shown_count = limit if len(sentences) <= limit else limit - 1
    for sentence in sentences[:shown_count]:
        page.line(page.message(sentence))
    if len(sentences) > shown_count:
        page.line(Cell(f"and {len(sentences) - shown_count} more: key 4", "dim"))
    if not sentences:
        page.line(Cell("nothing", "dim"))
    return page.lines
