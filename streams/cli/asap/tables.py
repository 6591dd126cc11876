"""The tables of ASAP for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.cli.cells import Cell
from streams.cli.lists import TextTable
from streams.cli.text import Page

Json = Mapping[str, Any]
_URN = "urn:asap:agent:"
_STATES = {"completed": "green", "failed": "red", "rejected": "red", "cancelled": "red"}


def agent_cell(urn: Any, page: Page) -> Cell:
    """Return an agent by its URN, of which the common beginning is left out unless `--wide`."""
    is_short = isinstance(urn, str) and not page.wide
    return page.message(urn.removeprefix(_URN) if is_short else urn)


def _status(value: Any, page: Page) -> Cell:
    return page.plain(value, _STATES.get(value, ""))


def _task(item: Json, page: Page) -> Sequence[Cell]:
    task = item["task"]
    return [
        page.time(task["created_at"]),
        page.id(task["id"]),
        _status(task["status"], page),
        agent_cell(item["worker"], page),
        page.message(item["skill_id"]),
        page.number(item["sequence"]),
    ]


def _event(item: Json, page: Page) -> Sequence[Cell]:
    return [
        page.number(item["sequence"]),
        page.time(item["at"]),
        page.plain(item["rule"]),
        _status(item["status"], page),
        agent_cell(item["sender"], page),
        page.number(item["snapshot_version"]),
    ]


def _snapshot(item: Json, page: Page) -> Sequence[Cell]:
    return [
        page.number(item["version"]),
        page.time(item["created_at"]),
        page.id(item["id"]),
        page.plain(item["checkpoint"]),
        page.number(item["restored_from"]),
    ]


def _message(item: Json, page: Page) -> Sequence[Cell]:
    return [
        page.time(item["timestamp"]),
        page.id(item["id"]),
        agent_cell(item["sender"], page),
        page.plain(item["role"]),
        _parts(item["parts"], page),
    ]


def _parts(parts: Any, page: Page) -> Cell:
    """Return the text of text parts, and the others as JSON."""
    cells = [
        page.message(part["content"] if part.get("type") == "text" else part) for part in parts
    ]
    return page.joined(*cells) if cells else page.plain(None)


def _conversation(item: Json, page: Page) -> Sequence[Cell]:
    return [
        page.id(item["id"]),
        page.number(item["tasks"]),
        page.time(item["created_at"]),
        page.time(item["last_created_at"]),
    ]


def _agent(item: Json, page: Page) -> Sequence[Cell]:
    return [
        page.message(item["id"]),
        page.message(item["name"]),
        page.plain(item["version"]),
        page.message(item["endpoints"]["asap"]),
    ]


TASKS = TextTable(("created", "task", "state", "worker", "skill", "events"), _task)
EVENTS = TextTable(("#", "time", "rule", "state", "sender", "snapshot"), _event)
SNAPSHOTS = TextTable(("version", "created", "snapshot", "checkpoint", "restored from"), _snapshot)
MESSAGES = TextTable(("time", "message", "sender", "role", "parts"), _message)
CONVERSATIONS = TextTable(("conversation", "tasks", "first", "last"), _conversation)
AGENTS = TextTable(("agent", "name", "version", "endpoint"), _agent)
