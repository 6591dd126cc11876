"""`headrace summit runs`."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import click

from streams.cli import common, lists, text
from streams.cli.cells import Row
from streams.cli.numbers import number_text
from streams.cli.summit.agents import MAX_LIMIT
from streams.cli.summit.common import SummitCommand
from streams.cli.summit.states import ENDED_OTHERWISE, state_cell
from streams.settings import Settings

_TITLES = (
    *("runId", "kind", "agentId", "state", "reason", "tokens", "cost_usd", "elapsed_ms"),
    *("verificationStatus", "createdAt"),
)
_TEXT_TITLES = ("created", "run", "agent", "state", "tokens", "usd", "ms", "review")


@click.command("runs", cls=SummitCommand)
@click.option("--agent", "agentId", metavar="A", help="Runs of this agent.")
@click.option("--state", metavar="S", help="Runs in this state.")
@click.option("--trace", "traceId", metavar="T", help="Runs of this trace.")
@click.option("--parent", "parentRunId", metavar="R", help="Child runs of this run.")
@click.option("--kind", type=click.Choice(["invoke", "tool"]), help="Calls of agents, or of tools.")
@click.option("--caller", metavar="ID", help="Runs of this caller.")
@click.option("--root", is_flag=True, default=None, help="Only runs that no other run has made.")
@lists.window_options("Created")
@lists.options
def command(**params: Any) -> None:
    """Show runs, the newest first.

    \b
    Example:
      headrace summit runs --agent word-stats --state failed
    """
    params["limit"] = min(params["limit"], MAX_LIMIT)
    answer = common.ask("/v1/summit/runs", common.query_of(params), Settings.load())
    text.show(answer, _render, _pipe)


def _render(answer: Any, page: text.Page) -> None:
    rows = [_text_row(item, page) for item in answer["items"]]
    page.table(_TEXT_TITLES, rows, what="runs")
    page.more(len(answer["items"]), answer["next"])


def _text_row(run: Any, page: text.Page) -> Row:
    """Return a row for people; why a run ended otherwise than completed stands below it."""
    reason = run["reason"] if run["status"] in ENDED_OTHERWISE else None
    return Row(
        [
            page.time(run["createdAt"]),
            page.id(run["runId"])._replace(flexible=False),
            page.id(run["agentId"]),
            state_cell(run["status"], page),
            page.number(run["metrics"]["tokens"]),
            page.number(run["metrics"]["cost_usd"]),
            page.number(_elapsed_ms(run)),
            page.plain(run["verificationStatus"]),
        ],
        note=page.message(reason, "red") if reason else None,
    )


def _pipe(answer: Any) -> None:
    common.show_table(_TITLES, [_row(item) for item in answer["items"]])
    lists.show_next(answer["next"])


def _row(run: Any) -> tuple[str, ...]:
    ids = (run["runId"], run["kind"], run["agentId"], run["status"], run["reason"])
    metrics = run["metrics"]
    elapsed_ms = _elapsed_ms(run)
    usd = number_text(metrics["cost_usd"])
    figures = (metrics["tokens"], usd, "-" if elapsed_ms is None else elapsed_ms)
    return (*ids, *map(str, figures), run["verificationStatus"] or "-", run["createdAt"])


def _elapsed_ms(run: Any) -> int | None:
    if run["finishedAt"] is None:
        return None
    finished, created = (datetime.fromisoformat(run[name]) for name in ("finishedAt", "createdAt"))
    return round((finished - created) / timedelta(milliseconds=1))
