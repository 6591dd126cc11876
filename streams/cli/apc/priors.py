"""`headrace apc priors`."""

from __future__ import annotations

from typing import Any

import click

from streams.cli import common, lists, text
from streams.cli.cells import Row
from streams.settings import Settings

_KINDS = ("method", "protocol")
_COLUMNS = (
    *lists.columns("use_case", "kind", "strategy", "mean", "sd", "attempts", "gates_met"),
    *lists.columns("alpha", "beta", "last_at"),
)
_TITLES = ("use case", "kind", "strategy", "mean", "sd", "attempts", "gates met", "last")
_TASK_COLUMNS = lists.columns(
    "session_id", "run_id", "task_id", "outcome", "drift_risk", "gates_met", "explain"
)
_TASK_TITLES = ("session", "run", "task", "outcome", "drift", "gates met", "packets")


@click.command("priors")
@click.option("--use-case", metavar="U", help="In this use case.  [default: all]")
@click.option("--kind", type=click.Choice(_KINDS), help="Only these.  [default: all]")
@click.option("--strategy", metavar="ID", help="This method or protocol.")
@click.option("--min-attempts", type=click.IntRange(0), metavar="N", help="With at least N.")
@click.option(
    "--order", type=click.Choice(("mean", "attempts")), help="Highest first.  [default: by name]"
)
@click.option(
    "--explain",
    metavar="STRATEGY",
    help="Show the tasks that this strategy's prior is the sum of; --use-case is - and --kind"
    " method unless given.",
)
@lists.options
def command(explain: str | None, **params: Any) -> None:
    """Show how the attempts of methods and protocols ended, by use case.

    The mean and the deviation are those of the Beta distribution of an attempt's outcome.

    \b
    Examples:
      headrace apc priors --use-case fleet --order mean
      headrace apc priors --use-case fleet --explain m-calibrate
    """
    if explain is None:
        answer = common.ask("/v1/apc/priors", common.query_of(params), Settings.load())
        text.show(answer, _render, _print_plain)
        return
    key = {"use_case": params["use_case"] or "-", "kind": params["kind"] or _KINDS[0]}
    paging = {name: params[name] for name in ("limit", "cursor", "after")}
    query = common.query_of({**key, "strategy": explain, **paging})
    answer = common.ask("/v1/apc/priors/explain", query, Settings.load())
    text.show(answer, _render_tasks, _print_tasks)


def _print_plain(answer: Any) -> None:
    lists.show_items(_COLUMNS, answer["items"])
    lists.show_next(answer["next"])


def _render(answer: Any, page: text.Page) -> None:
    rows = [_row(each, page) for each in answer["items"]]
    page.table(_TITLES, rows, what="priors")
    page.more(len(rows), answer["next"])


def _row(each: Any, page: text.Page) -> Row:
    return Row(
        [
            page.id(each["use_case"]),
            page.plain(each["kind"]),
            page.id(each["strategy"]),
            *(page.plain(each[name]) for name in ("mean", "sd", "attempts", "gates_met")),
            page.time(each["last_at"]),
        ]
    )


def _print_tasks(answer: Any) -> None:
    lists.show_items(_COLUMNS, [answer["prior"]])
    lists.show_items(_TASK_COLUMNS, answer["tasks"])
    lists.show_next(answer["next"])


def _render_tasks(answer: Any, page: text.Page) -> None:
    page.table(_TITLES, [_row(answer["prior"], page)], what="priors")
    rows = [_task_row(each, page) for each in answer["tasks"]]
    page.table(_TASK_TITLES, rows, what="tasks")
    page.more(len(rows), answer["next"])


def _task_row(each: Any, page: text.Page) -> Row:
    drift = "" if each["drift_risk"] is None else each["drift_risk"]
    return Row(
        [
            *(page.id(each[name]) for name in ("session_id", "run_id", "task_id")),
            *(page.plain(number) for number in (each["outcome"], drift)),
            page.check(each["gates_met"]),
            page.plain(len(each["packets"])),
        ]
    )
