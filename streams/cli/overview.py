"""`headrace overview`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from streams.cli import common, text
from streams.cli.cells import Cell
from streams.settings import Settings

Json = Mapping[str, Any]
_WINDOWS = click.Choice(["15m", "1h", "6h", "24h", "7d"])
_BAR_WIDTH = 24
_MAX_RULES = 12
_LEVELS = "▁▂▃▄▅▆▇█"


@click.command("overview")
@click.option(
    "--window", type=_WINDOWS, default="15m", show_default=True, help="The time up to now."
)
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
        _render_rules(overview["rules"], page)
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
    attention = list(_attention(overview))
    if attention:
        page.line(Cell(""))
        page.line(Cell("needs attention", "bold yellow"))
        for each in attention:
            page.line(page.plain(each), indent=2)


def _render_counts(overview: Json, page: text.Page) -> None:
    series = overview["series"]
    rows = [
        (
            Cell(word),
            page.number(overview[word if word != "refused" else "rejected"]),
            Cell("" if page.ascii else sparkline(_summed(series, verdicts))),
        )
        for word, verdicts in (
            ("commands", ("accepted", "duplicate", "rejected")),
            ("accepted", ("accepted",)),
            ("duplicate", ("duplicate",)),
            ("refused", ("rejected",)),
        )
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


def _summed(series: Sequence[Json], verdicts: Sequence[str]) -> list[int]:
    counts = [each["counts"] for each in series if each["verdict"] in verdicts]
    return [sum(column) for column in zip(*counts, strict=True)]


def sparkline(counts: Sequence[int]) -> str:
    """Return a bar for each count, as high as its share of the greatest one."""
    greatest = max(counts, default=0)
    if not greatest:
        return ""
    return "".join(
        " " if not count else _LEVELS[(count * len(_LEVELS) - 1) // greatest] for count in counts
    )


def _render_rules(rules: Sequence[Json], page: text.Page) -> None:
    refused = [each for each in rules if each["verdict"] in ("rejected", "duplicate")][:_MAX_RULES]
    greatest = max((each["count"] for each in refused), default=0)
    rows = [
        (
            page.plain(each["protocol"]),
            page.verdict(each["verdict"]),
            page.plain(each["rule"]),
            page.number(each["count"]),
            Cell(("#" if page.ascii else "█") * -(-each["count"] * _BAR_WIDTH // greatest)),
        )
        for each in refused
    ]
    if rows:
        page.table(("protocol", "verdict", "rule", "count", ""), rows)


def _attention(overview: Json) -> Sequence[str]:
    lag = overview["lag"]
    return [
        *(f"{each['count']} dead letters of {each['topic']}" for each in overview["dead_letters"]),
        *(f"protocol {name} has decayed" for name in overview["decayed"]),
        *([f"{overview['escalations']} escalations"] if overview["escalations"] else []),
        *(
            f"{each['name']} is {each['records']:,} records behind"
            for each in lag["processors"]
            if each["records"] > 1000 or (each["oldest_s"] or 0) > 30
        ),
        *([f"the view is {lag['view']:,} records behind"] if lag["view"] > 1000 else []),
    ]
