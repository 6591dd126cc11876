"""The tables of SAOP and RTES for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.cli.cells import Cell, Row
from streams.cli.lists import TextTable
from streams.cli.text import Page

Json = Mapping[str, Any]


def _counts(counts: Mapping[str, int], page: Page) -> Cell:
    return page.message(", ".join(f"{name} {count:,}" for name, count in counts.items()))


def _note(value: Any, page: Page) -> Cell | None:
    return page.message(value, "dim") if value else None


def _range(first: int | None, last: int | None, page: Page) -> Cell:
    """Return two numbers as one range; one that is missing is a question mark."""
    if first is None and last is None:
        return page.plain(None)
    if first == last:
        return page.plain(str(first))
    ends = ("?" if number is None else f"{number:,}" for number in (first, last))
    return page.plain(page.dash.join(ends))


def _session(item: Json, page: Page) -> Row:
    cells = [
        page.time(item["last_recorded_at"]),
        page.id(item["session_id"]),
        page.number(item["last_sequence"]),
        page.number(item["rejected"]),
        page.id(item["current_task"]),
        _counts(item["tasks_by_state"], page),
    ]
    events = _counts(item["events_by_type"], page) if item["events_by_type"] else None
    return Row(cells, note=events and events._replace(style="dim"))


def _task(item: Json, page: Page) -> Sequence[Cell]:
    return [
        page.time(item["last_at"]),
        page.id(item["session_id"]),
        page.id(item["task_id"]),
        page.plain(item["state"], _STATES.get(item["state"], "")),
        page.number(item["failures"]),
        page.id(item["head_hash"]),
        page.plain(item["origin"]),
    ]


_STATES = {"COMPLETED": "green", "FAILED": "red"}


def _turn(item: Json, page: Page) -> Sequence[Cell]:
    turn, gap = item["turn"], item["gap"] or {}
    return [
        page.time(item["at"]),
        page.number(turn["turn_index"]),
        page.plain(turn["agent_id"]),
        page.number(turn["metadata"]["confidence"]),
        page.plain(item["held"]),
        _range(gap.get("missing_from"), gap.get("missing_to"), page),
    ]


def _escalation(item: Json, page: Page) -> Row:
    cells = [
        page.time(item["at"]),
        page.id(item["task_id"]),
        page.id(item["session_id"]),
        page.message(item["agent_id"]),
        page.number(item["turn_index"]),
        page.plain(item["detector"]),
        page.message(item["outcome"]),
    ]
    return Row(cells, note=_note(", ".join(item["rules"]), page))


def _rewind(item: Json, page: Page) -> Sequence[Cell]:
    return [
        page.time(item["at"]),
        page.id(item["rewind_id"]),
        page.id(item["session_id"]),
        page.plain(item["state"], _REWIND_STATES.get(item["state"], "")),
        page.id(item["target_task_id"]),
        page.id(item["git_hash"]),
        page.number(len(item["moved"])),
        page.message(item["requested_by"]),
    ]


_REWIND_STATES = {"applied": "green", "prepared": "yellow"}


def _audit(item: Json, page: Page) -> Row:
    difference = item["first_difference"]
    reason = item["reason"]
    if difference is not None:
        reason = f"{reason or ''} first difference at {difference}".strip()
    cells = [
        page.check(_AGREES.get(item["status"])),
        page.id(item["task_id"]),
        page.id(item["session_id"]),
        page.number(item["turn_index"]),
        page.plain(item["agent_id"]),
        page.plain(item["status"]),
        page.number(item["chunks"]),
    ]
    return Row(cells, note=_note(reason, page))


_AGREES = {"match": True, "mismatch": False}


def _call(item: Json, page: Page) -> Sequence[Cell]:
    return [
        page.id(item["call_id"]),
        page.plain(item["tool"]),
        page.id(item["task_id"]),
        page.plain(item["status"], _STATUSES.get(item["status"], "")),
        page.number(item["duration_ms"]),
        _range(item["invoked_sequence"], item["completed_sequence"], page),
        page.message(item["flags"]),
    ]


_STATUSES = {"success": "green", "failure": "red", "timeout": "red"}

SESSIONS = TextTable(("last", "session", "events", "refused", "task", "tasks by state"), _session)
TASKS = TextTable(("last", "session", "task", "state", "failures", "commit", "origin"), _task)
TURNS = TextTable(("time", "turn", "agent", "confidence", "held", "missing"), _turn)
ESCALATIONS = TextTable(
    ("time", "task", "session", "agent", "turn", "detector", "outcome"), _escalation
)
REWINDS = TextTable(
    ("time", "rewind", "session", "state", "task", "commit", "moved", "by"), _rewind
)
AUDIT = TextTable(("", "task", "session", "turn", "agent", "status", "chunks"), _audit)
CALLS = TextTable(("call", "tool", "task", "status", "ms", "events", "flags"), _call)
