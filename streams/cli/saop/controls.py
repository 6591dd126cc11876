"""`headrace saop pause` and `headrace saop resume`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import click

from streams.cli import common, text
from streams.errors import GatewayUnavailable
from streams.settings import Settings


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a control."""
    session = click.option(
        "--session", "session_id", metavar="S", required=True, help="Its session."
    )
    task = click.option("--task", "task_id", metavar="T", required=True, help="The task.")
    reason = click.option("--reason", metavar="TEXT", help="Reason, stored on the log.")
    with_options: Callable[..., Any] = session(task(reason(text.options(command))))
    return with_options


@click.command("pause")
@_options
def pause(session_id: str, task_id: str, reason: str | None) -> None:
    """Pause a task: its transitions and turns are refused until an operator resumes it.

    Its other events are recorded.  Needs a gateway.  Exits with 1 when the control is refused.

    \b
    Example:
      headrace saop pause --session s-9 --task task-a --reason 'it repeats itself'
    """
    _control("pause", session_id, task_id, reason)


@click.command("resume")
@_options
def resume(session_id: str, task_id: str, reason: str | None) -> None:
    """Resume a task that the service or an operator has paused; its failures count anew.

    Needs a gateway.  Exits with 1 when the control is refused.

    \b
    Example:
      headrace saop resume --session s-9 --task task-a
    """
    _control("resume", session_id, task_id, reason)


def _control(action: str, session_id: str, task_id: str, reason: str | None) -> None:
    from streams.cli.gateway_client import NoGateway

    path = f"/v1/saop/sessions/{quote(session_id, safe='')}/tasks/{quote(task_id, safe='')}"
    body = {} if reason is None else {"reason": reason}
    fact = common.post_to_gateway(f"{path}/{action}", body, Settings.load())
    if isinstance(fact, NoGateway):
        raise GatewayUnavailable(f"no gateway could be asked ({fact.reason})")
    text.show(fact, _render)


def _render(fact: Any, page: text.Page) -> None:
    page.line(
        page.check(True),
        page.plain(fact["rule"], "bold"),
        page.id(fact["task_id"]),
        page.plain(fact["from_state"] or ""),
        page.plain(page.arrow),
        page.plain(fact["to_state"] or "", "bold"),
    )
