"""The commands `headrace rtes` that query the views."""

from __future__ import annotations

from typing import Any

import click

from streams.cli import lists

_CALL = lists.columns(
    *("call_id", "tool", "task_id", "status", "duration_ms"),
    *("invoked_sequence", "completed_sequence", "flags"),
)
_EVENT = lists.columns("sequence", "recorded_at", "type", "payload", "event_id")
_REJECTION = lists.columns(
    "at", "verdict", "rule", "type", "event_id", "first_sequence", "figures", "cause"
)


@click.command("events")
@click.option("--session", "session_id", metavar="ID", required=True, help="Of this session.")
@lists.options
def events(**params: Any) -> None:
    """Show the events of a session, by sequence.

    \b
    Example:
      headrace rtes events --session s-9
    """
    lists.show("/v1/rtes/events", _EVENT, **params)


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
    lists.show("/v1/rtes/calls", _CALL, **params)


@click.command("rejections")
@click.option("--session", "session_id", metavar="ID", required=True, help="Of this session.")
@lists.options
def rejections(**params: Any) -> None:
    """Show the duplicate and rejected events of a session, with their rules.

    \b
    Example:
      headrace rtes rejections --session s-9 --after rtes.raw/0/3
    """
    lists.show("/v1/rtes/rejections", _REJECTION, **params)
