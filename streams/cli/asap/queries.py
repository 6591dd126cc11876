"""The commands `headrace asap` that query the views."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import click

from streams.cli import common, lists, text
from streams.cli.asap import tables
from streams.cli.asked_things import ask_thing
from streams.cli.thing_text import show_thing
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
_CONVERSATION = lists.columns("id", "tasks", "created_at", "last_created_at")
_AGENT = lists.columns("id", "name", "version", "endpoints.asap")


def _get(path: str, after: str | None, **params: Any) -> Any:
    """Return a route's response body.  params: those that are None are left out."""
    query = common.query_of({**params, "after": after})
    return common.ask(f"/v1/asap/{path}", query, Settings.load())


def _task_path(id: str, *more: str) -> str:
    return "/".join(quote(part, safe="") for part in ("tasks", id, *more))


def _show(answer: Any) -> None:
    text.show(answer, _render_members, common.show_members)


def _render_members(answer: Any, page: text.Page) -> None:
    lists.show_member_lines(page, answer)


def _show_items(
    table_columns: tuple[lists.Column, ...], table: lists.TextTable, answer: Any, member: str
) -> None:
    text.show(
        answer,
        lambda body, page: table.show(page, body[member], member),
        lambda body: lists.show_items(table_columns, body[member]),
    )


@click.command("show")
@click.argument("id")
@text.options
@common.read_options
@common.as_of_option
def show(id: str, after: str | None, as_of: str | None) -> None:
    """Show the state of a task, and its response.

    ID is the id of the task, its worker's own id for it, or the id of its request.

    \b
    Example:
      headrace asap show 01M7YRRRS4RFVVVX9QRHKJ8E9C
    """
    if text.form() is text.Form.TEXT:
        answer = ask_thing("asap:task", id, Settings.load(), after=after, as_of=as_of)
        text.show(answer, _render_task)
        return
    answer = _get(_task_path(id), after, as_of=as_of)
    text.show(answer, _render_task, lambda body: common.show_members(_flat(body)))


def _render_task(thing: Any, page: text.Page) -> None:
    show_thing(thing, page)
    response = thing["details"]["response"]
    if response is not None:
        page.line()
        page.line(
            page.plain("response", "bold"),
            page.id(response["id"]),
            page.time(response["timestamp"]),
        )
        lists.show_member_lines(page, response["payload"], indent=2)


def _flat(answer: Any) -> Any:
    """Return the members of the task and of the answer in one object."""
    return {**answer["task"], **{k: v for k, v in answer.items() if k != "task"}}


@click.command("tasks")
@click.option("--status", type=_STATUSES, help="Tasks in this state.")
@click.option("--conversation", "conversation_id", metavar="ID", help="Tasks of this conversation.")
@click.option("--requester", metavar="URN", help="Tasks that this agent requested.")
@click.option("--worker", metavar="URN", help="Tasks of this worker.")
@click.option("--skill", "skill_id", metavar="ID", help="Tasks that need this skill.")
@click.option("--parent", "parent_task_id", metavar="ID", help="Subtasks of this task.")
@lists.window_options("Created")
@click.option("--order", type=click.Choice(["oldest", "newest"]), help="Which come first.")
@lists.options
def tasks(**params: Any) -> None:
    """Show tasks, the oldest first unless --order says otherwise.

    \b
    Example:
      headrace asap tasks --worker urn:asap:agent:indexer:eu --status working
    """
    lists.show("/v1/asap/tasks", "tasks", _TASK, ("tasks", "cursor"), tables.TASKS, **params)


@click.command("events")
@click.argument("id")
@click.option("--at", type=int, metavar="N", help="Show events up to N, and the state after N.")
@lists.options
def events(id: str, at: int | None, **params: Any) -> None:
    """Show the events of a task.

    For an event-sourced task, --at also shows the state after that event.

    \b
    Example:
      headrace asap events 01M7YRRRS4RFVVVX9QRHKJ8E9C --at 3
    """
    answer = _get(_task_path(id, "events"), params.pop("after"), at=at, **params)

    def render(answer: Any, page: text.Page) -> None:
        tables.EVENTS.show(page, answer["events"], "events")
        page.more(len(answer["events"]), answer["cursor"])
        if at is not None:
            page.line()
            lists.show_member_lines(page, {"version": at, **answer["state"]})

    def pipe(answer: Any) -> None:
        lists.show_items(_EVENT, answer["events"])
        lists.show_next(answer["cursor"])
        if at is not None:
            common.echo()
            common.show_members({"version": at, **answer["state"]})

    text.show(answer, render, pipe)


@click.command("snapshots")
@click.argument("id")
@click.argument("version", required=False)
@text.options
@common.read_options
def snapshots(id: str, version: str | None, after: str | None) -> None:
    """Show the saved states of a task, or one of them.

    VERSION is a number, `latest` or `checkpoint`.

    \b
    Examples:
      headrace asap snapshots 01M7YRRRS4RFVVVX9QRHKJ8E9C
      headrace asap snapshots 01M7YRRRS4RFVVVX9QRHKJ8E9C latest --json
    """
    if version is not None:
        _show(_get(_task_path(id, "snapshots", version), after))
        return
    answer = _get(_task_path(id, "snapshots"), after)
    _show_items(_SNAPSHOT, tables.SNAPSHOTS, answer, "snapshots")


@click.command("messages")
@click.argument("id")
@text.options
@common.read_options
def messages(id: str, after: str | None) -> None:
    """Show the messages between the agents of a task.

    \b
    Example:
      headrace asap messages 01M7YRRRS4RFVVVX9QRHKJ8E9C
    """
    answer = _get(_task_path(id, "messages"), after)
    _show_items(_MESSAGE, tables.MESSAGES, answer, "messages")


@click.command("conversations")
@click.option("--participant", metavar="URN", help="Those in which this agent asks or works.")
@lists.options
def conversations(**params: Any) -> None:
    """Show conversations, by id, with the number of their tasks.

    \b
    Example:
      headrace asap conversations --participant urn:asap:agent:planner
    """
    table = tables.CONVERSATIONS
    lists.show("/v1/asap/conversations", "conversations", _CONVERSATION, text_table=table, **params)


@click.command("agents")
@click.argument("urn", required=False)
@lists.options
def agents(urn: str | None, **params: Any) -> None:
    """Show the manifests in force, or one of them.

    \b
    Examples:
      headrace asap agents
      headrace asap agents urn:asap:agent:indexer:eu --json
    """
    if urn is None:
        members = ("agents", "cursor")
        lists.show("/v1/asap/agents", "agents", _AGENT, members, tables.AGENTS, **params)
    else:
        _show(_get(f"agents/{quote(urn, safe='')}", params["after"]))
