"""`headrace apc protocols`."""

from __future__ import annotations

from typing import Any

import click

from streams.cli import common, lists, text
from streams.cli.cells import Cell, Row
from streams.cli.lists import Column
from streams.settings import Settings

_COLUMNS = (
    *lists.columns("protocol_id", "effectiveness_score", "transfers", "accepted"),
    *lists.columns("run_count", "blocked", "blocked_since"),
    Column("reasons", "blocked_reasons", "message"),
    Column("last_decision", "last_decision.decision_id"),
)
_FIGURES = ("effectiveness_score", "transfers", "accepted", "run_count")
_TITLES = ("protocol", "score", "transfers", "accepted", "runs", "blocked since", "decision")


@click.command("protocols")
@click.option("--blocked/--not-blocked", default=None, help="Only these.  [default: all]")
@lists.options
def command(**params: Any) -> None:
    """Show protocols over all runs: their effectiveness, and the last decision on each.

    A protocol that has decayed is blocked, with the time since when; `apc decisions` shows all
    decisions.

    \b
    Example:
      headrace apc protocols --blocked
    """
    answer = common.ask("/v1/apc/protocols", common.query_of(params), Settings.load())
    text.show(answer, _render, _print_plain)


def _print_plain(answer: Any) -> None:
    lists.show_items(_COLUMNS, answer["items"])
    lists.show_next(answer["next"])


def _render(answer: Any, page: text.Page) -> None:
    rows = [_row(each, page) for each in answer["items"]]
    page.table(_TITLES[:-1] if page.is_narrow else _TITLES, rows, what="protocols")
    page.more(len(rows), answer["next"])


def _row(each: Any, page: text.Page) -> Row:
    """Return a row; a narrow page has the last decision below it."""
    cells = [
        page.id(each["protocol_id"]),
        *(page.plain(each[name]) for name in _FIGURES),
        page.time(each["blocked_since"]) if each["blocked"] else Cell(page.dash),
    ]
    decision = page.message(_decision(each["last_decision"]))
    if page.is_narrow:
        return Row(cells, decision._replace(style="dim") if each["last_decision"] else None)
    return Row([*cells, decision])


def _decision(decision: Any) -> str:
    if not decision:
        return ""
    if decision["arbitration"]:
        arbitration = decision["arbitration"]
        counts = f"{arbitration['selected_count']} of {arbitration['candidate_count']}"
        return f"selected {counts} in run {arbitration['run_id']}"
    return "decayed" if decision["decay"]["blocked"] else "recovered"
