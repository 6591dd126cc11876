"""The commands `headrace asap` that query the views."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

import click

from streams.cli import common, lists
from streams.cli.asap import send as asap_send
from streams.settings import Settings

_STATUSES = click.Choice(
    [
        *("submitted", "working", "input_required", "paused"),
        *("completed", "failed", "cancelled", "rejected"),
    ]
)
_TASK = lists.columns("task.created_at", "task.id", "task.status", "worker", "skill_id", "sequence")
_EVENT = lists.columns("sequence", "at", "rule", "status", "sender", "snapshot_version")
_SNAPSHOT = lists.columns("version", "id", "checkpoint", "created_at", "restored_from")
_MESSAGE = lists.columns("timestamp", "id", "sender", "role", "parts")
_AGENT = lists.columns("id", "name", "version", "endpoints.asap")
_json_option = click.option("--json", "as_json", is_flag=True, help="Print the response as JSON.")


@click.group("asap")
def command() -> None:
    """Query ASAP tasks and their agents; send a task.

    \b
    Example:
      headrace asap tasks --status working
    """


def _get(path: str, after: str | None, **params: Any) -> Any:
    """Return a route's response body.  params: those that are None are left out."""
    query = {name: value for name, value in {**params, "after": after}.items() if value is not None}
    return common.ask(f"/v1/asap/{path}", urlencode(query), Settings.load())


def _task_path(id: str, *more: str) -> str:
    return "/".join(quote(part, safe="") for part in ("tasks", id, *more))


def _show(answer: Any, as_json: bool) -> None:
    if as_json:
        common.show_json(answer)
    else:
        common.show_members(answer)


@command.command("task")
@click.argument("id")
@_json_option
@common.after_option
@common.as_of_option
def task(id: str, as_json: bool, after: str | None, as_of: str | None) -> None:
    """Show the state of a task, and its response.

    ID is the id of the task, its worker's own id for it, or the id of its request.

    \b
    Example:
      headrace asap task 01M7YRRRS4RFVVVX9QRHKJ8E9C
    """
    answer = _get(_task_path(id), after, as_of=as_of)
    _show(answer if as_json else {**answer.pop("task"), **answer}, as_json)


@command.command("tasks")
@click.option("--status", type=_STATUSES, help="Tasks in this state.")
@click.option("--conversation", "conversation_id", metavar="ID", help="Tasks of this conversation.")
@click.option("--requester", metavar="URN", help="Tasks that this agent requested.")
@click.option("--worker", metavar="URN", help="Tasks of this worker.")
@click.option("--skill", "skill_id", metavar="ID", help="Tasks that need this skill.")
@click.option("--parent", "parent_task_id", metavar="ID", help="Subtasks of this task.")
@lists.options
def tasks(as_json: bool, **params: Any) -> None:
    """Show tasks, the oldest first.

    \b
    Example:
      headrace asap tasks --worker urn:asap:agent:indexer:eu --status working
    """
    lists.show("/v1/asap/tasks", _TASK, as_json, ("tasks", "cursor"), **params)


@command.command("events")
@click.argument("id")
@click.option("--at", type=int, metavar="N", help="Show events up to N, and the state after N.")
@lists.options
def events(id: str, at: int | None, as_json: bool, **params: Any) -> None:
    """Show the events of a task.

    For an event-sourced task, --at also shows the state after that event.

    \b
    Example:
      headrace asap events 01M7YRRRS4RFVVVX9QRHKJ8E9C --at 3
    """
    answer = _get(_task_path(id, "events"), params.pop("after"), at=at, **params)
    if as_json:
        common.show_json(answer)
        return
    lists.show_items(_EVENT, answer["events"])
    lists.show_next(answer["cursor"])
    if at is not None:
        common.echo()
        common.show_members({"version": at, **answer["state"]})


@command.command("snapshots")
@click.argument("id")
@click.argument("version", required=False)
@_json_option
@common.after_option
def snapshots(id: str, version: str | None, as_json: bool, after: str | None) -> None:
    """Show the saved states of a task, or one of them.

    VERSION is a number, `latest` or `checkpoint`.

    \b
    Examples:
      headrace asap snapshots 01M7YRRRS4RFVVVX9QRHKJ8E9C
      headrace asap snapshots 01M7YRRRS4RFVVVX9QRHKJ8E9C latest --json
    """
    if version is not None:
        _show(_get(_task_path(id, "snapshots", version), after), as_json)
        return
    answer = _get(_task_path(id, "snapshots"), after)
    if as_json:
        common.show_json(answer)
    else:
        lists.show_items(_SNAPSHOT, answer["snapshots"])


@command.command("messages")
@click.argument("id")
@_json_option
@common.after_option
def messages(id: str, as_json: bool, after: str | None) -> None:
    """Show the messages between the agents of a task.

    \b
    Example:
      headrace asap messages 01M7YRRRS4RFVVVX9QRHKJ8E9C
    """
    answer = _get(_task_path(id, "messages"), after)
    if as_json:
        common.show_json(answer)
    else:
        lists.show_items(_MESSAGE, answer["messages"])


@command.command("agents")
@click.argument("urn", required=False)
@lists.options
def agents(urn: str | None, as_json: bool, **params: Any) -> None:
    """Show the manifests in force, or one of them.

    \b
    Examples:
      headrace asap agents
      headrace asap agents urn:asap:agent:indexer:eu --json
    """
    if urn is None:
        lists.show("/v1/asap/agents", _AGENT, as_json, ("agents", "cursor"), **params)
    else:
        _show(_get(f"agents/{quote(urn, safe='')}", params["after"]), as_json)


for _command in asap_send.COMMANDS:
    command.add_command(_command)
