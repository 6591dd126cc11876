"""The commands `headrace rtes` that query the views."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from streams.cli import common, lists, text
from streams.cli.cells import Row
from streams.cli.saop import tables
from streams.settings import Settings

_CALL = lists.columns(
    *("call_id", "tool", "task_id", "status", "duration_ms"),
    *("invoked_sequence", "completed_sequence", "flags"),
)
_REJECTION = lists.columns(
    "at", "verdict", "rule", "type", "event_id", "first_sequence", "figures", "cause"
)


@click.command("events")
@click.option("--session", "session_id", metavar="ID", required=True, help="Of this session.")
@click.option("--type", metavar="TYPE", help="Only events of this type.")
@click.option("--task", "task_id", metavar="ID", help="Only events of this task.")
@click.option("--after-sequence", type=click.IntRange(0), metavar="N", help="Only events after N.")
@lists.options
def events(**params: Any) -> None:
    """Show the events of a session by number, one line each.

    Chunks of a thought that follow each other are one line.

    \b
    Example:
      headrace rtes events --session s-9 --type TASK_TRANSITION
    """
    answer = common.ask("/v1/rtes/events", common.query_of(params), Settings.load())
    text.show(answer, _show_events, pipe=None)


def _show_events(answer: Any, page: text.Page) -> None:
    from streams.cli.line_text import LineJoiner
    from streams.protocols.saop.rtes.event_lines import recorded_line

    lines = LineJoiner(page)
    for event in answer["items"]:
        lines.add(recorded_line(event), _ms(event["recorded_at"]))
    lines.flush()
    if not answer["items"]:
        page.none("events")
    page.more(len(answer["items"]), answer["next"])


def _ms(time: str) -> int:
    return round(datetime.fromisoformat(time).timestamp() * 1000)


@click.command("calls")
@click.option("--session", "session_id", metavar="ID", required=True, help="Of this session.")
@click.option("--open", is_flag=True, help="Only calls that are not completed.")
@lists.options
def calls(**params: Any) -> None:
    """Show the tool calls of a session, in the order in which they began.

    \b
    Example:
      headrace rtes calls --session s-9 --open
    """
    lists.show("/v1/rtes/calls", "calls", _CALL, text_table=tables.CALLS, **params)


@click.command("rejections")
@click.option("--session", "session_id", metavar="ID", required=True, help="Of this session.")
@lists.options
def rejections(**params: Any) -> None:
    """Show the duplicate and rejected events of a session, with their rules.

    \b
    Example:
      headrace rtes rejections --session s-9 --after rtes.raw/0/3
    """
    answer = common.ask("/v1/rtes/rejections", common.query_of(params), Settings.load())
    text.show(answer, _show_rejections, _pipe_rejections)


def _show_rejections(answer: Any, page: text.Page) -> None:
    from streams.protocols.saop.rtes.event_lines import rejection_reason

    rows = []
    for each in answer["items"]:
        cells = [
            page.time(each["at"]),
            page.plain(each["type"]),
            page.verdict(each["verdict"]),
            page.plain(each["rule"]),
        ]
        reason = page.message(rejection_reason(each))
        rows.append(Row(cells, reason) if page.is_narrow else Row([*cells, reason]))
    others = () if page.is_narrow else ("reason",)
    page.table(("time", "type", "verdict", "rule", *others), rows, what="rejections")
    page.more(len(rows), answer["next"])


def _pipe_rejections(answer: Any) -> None:
    lists.show_items(_REJECTION, answer["items"])
    lists.show_next(answer["next"])
