"""`headrace overview`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from streams.cli import common, text
from streams.cli.cells import Cell
from streams.cli.overview_figures import (
    COUNTS,
    attention,
    bar,
    refused_rules,
    sparkline,
    summed,
    window_option,
)
from streams.settings import Settings

Json = Mapping[str, Any]
_BAR_WIDTH = 24
_MAX_RULES = 12


@click.command("overview")
@window_option
@text.options
@common.read_options
def command(**params: Any) -> None:
    """Show what was decided in a window of time, what is open, and what lags.

    \b
    Example:
      headrace overview --window 1h
    """
    answer = common.ask("/v1/overview", common.query_of(params), Settings.load())
    text.show(answer, _render, pipe=None)


def _render(overview: Json, page: text.Page) -> None:
    page.line(
        Cell("from", "dim"),
        page.time(overview["from"]),
        Cell("to", "dim"),
        page.time(overview["to"]),
    )
    _render_counts(overview, page)
    if overview["rules"]:
        page.line(Cell(""))
        _render_rules(overview, page)
    if overview["open"]:
        page.line(Cell(""))
        rows = [
            (
                page.plain(each["protocol"]),
                page.plain(each["kind"]),
                page.plain(each["state"]),
                page.number(each["count"]),
            )
            for each in overview["open"]
        ]
        page.table(("open", "kind", "state", "count"), rows)
    if sentences := attention(overview):
        page.line(Cell(""))
        page.line(Cell("needs attention", "bold yellow"))
        for sentence in sentences:
            page.line(page.plain(sentence), indent=2)


def _render_counts(overview: Json, page: text.Page) -> None:
    rows = [
        (
            Cell(word),
            page.number(overview[member]),
            Cell("" if page.ascii else sparkline(summed(overview["series"], verdicts))),
        )
        for word, member, verdicts in COUNTS
    ]
    events, cache = overview["events"], overview["cache"]
    page.table(("", "count", ""), rows)
    page.line(
        page.joined("events", page.number(events["recorded"]), "recorded,"),
        page.joined(page.number(events["duplicate"]), "duplicate,"),
        page.joined(page.number(events["rejected"]), "refused"),
    )
    page.line(
        page.joined("cache", page.number(cache["hits"]), "hits of", page.number(cache["lookups"])),
        page.joined("stored", page.number(cache["stored"])),
        page.joined("refused writes", page.number(cache["refused_writes"])),
    )


def _render_rules(overview: Json, page: text.Page) -> None:
    rules = refused_rules(overview, ("rejected", "duplicate"), _MAX_RULES)
    greatest = max((each["count"] for each in rules), default=0)
    mark = "#" if page.ascii else "█"
    rows = [
        (
            page.plain(each["protocol"]),
            page.verdict(each["verdict"]),
            page.plain(each["rule"]),
            page.number(each["count"]),
            Cell(bar(each["count"], greatest, _BAR_WIDTH, mark)),
        )
        for each in rules
    ]
    if rows:
        page.table(("protocol", "verdict", "rule", "count", ""), rows)
