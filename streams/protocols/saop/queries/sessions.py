"""The rows of tasks, and the counts of each session's events and tasks.

| key                                              | value                                   |
|--------------------------------------------------|-----------------------------------------|
| task, session, [origin:]task                     | SaopTask as on its topic                |
| task of, task, session, [origin:]task            | key of that row                         |
| task in, state, session, [origin:]task           | key of that row                         |
| saop session, session                            | JSON: sequences, times, counts          |
| saop sessions at, last_recorded_at or 0, session | nothing                                 |
| saop session tasks, session                      | JSON: counts by state, the active tasks |

Every count is a sum over records of one topic, so it does not matter in which order topics are
read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from schemas import decode
from schemas.rtes.models import NAMES
from streams.engine.records import Record
from streams.views.changes import WriteBatch
from streams.views.keys import key
from streams.views.service.open_work import OpenWork
from topology.keys import split
from topology.machines.task_profiles import PROFILES
from topology.saop import SAOP_TASKS

Json = dict[str, Any]
Values = Mapping[str, Any]

TASK_WORK = OpenWork("saop", "task", frozenset())
NEW: Json = {
    "last_sequence": 0,
    "first_recorded_at": None,
    "last_recorded_at": None,
    "events_by_type": {},
    "rejected": 0,
    "duplicates": 0,
}
BY_TIME = key("saop sessions at")
NO_TASKS: Json = {"tasks_by_state": {}, "active": []}


def _loaded(row: bytes | None, new: Json) -> Json:
    value: Json = orjson.loads(orjson.dumps(new) if row is None else row)
    return value


class _Sessions:
    """The rows of the sessions of one batch, each read and written once."""

    def __init__(self, rows: WriteBatch) -> None:
        self._rows = rows
        self._open: dict[str, Json] = {}
        self._sort_keys: dict[str, bytes | None] = {}

    def __getitem__(self, session_id: str) -> Json:
        if session_id not in self._open:
            row = self._rows.read(key("saop session", session_id))
            session = self._open[session_id] = _loaded(row, NEW)
            self._sort_keys[session_id] = None if row is None else _sort_key(session_id, session)
        return self._open[session_id]

    def write(self) -> None:
        for session_id, row in self._open.items():
            self._rows[key("saop session", session_id)] = orjson.dumps(row)
            before, sort_key = self._sort_keys[session_id], _sort_key(session_id, row)
            if before == sort_key:
                continue
            if before is not None:
                self._rows[before] = None
            self._rows[sort_key] = b""


def _sort_key(session_id: str, session: Json) -> bytes:
    """Return the key of the index by time.  session: its counts."""
    return BY_TIME + key(session["last_recorded_at"] or 0, session_id)


def count_events(records: Iterable[Values], rows: WriteBatch) -> None:
    """Count events.  records: RtesRecords as Avro values."""
    sessions = _Sessions(rows)
    for record in records:
        row = sessions[record["session_id"]]
        if row["first_recorded_at"] is None:
            row["first_recorded_at"] = record["recorded_at"]
        row["last_sequence"] = record["sequence"]
        row["last_recorded_at"] = record["recorded_at"]
        kind = NAMES[record["payload"][0]]
        row["events_by_type"][kind] = row["events_by_type"].get(kind, 0) + 1
    sessions.write()


def count_rejections(verdicts: Iterable[tuple[str, str]], rows: WriteBatch) -> None:
    """Count rejections.  verdicts: session ids with the verdict of each rejection."""
    sessions = _Sessions(rows)
    for session_id, verdict in verdicts:
        name = "duplicates" if verdict == "duplicate" else "rejected"
        sessions[session_id][name] += 1
    sessions.write()


def note_task(record: Record, task: Values, rows: WriteBatch) -> None:
    """Write a task.  task: the SaopTask of the record, as an Avro value."""
    session_id, name = split((record.key or b"").decode())
    row = key("task", session_id, name)
    before = rows.read(row)
    old = None if before is None else decode(before, SAOP_TASKS.record or "").value
    summary_key = key("saop session tasks", session_id)
    summary = _loaded(rows.read(summary_key), NO_TASKS)
    if old is not None:
        _count(summary, old, -1)
        rows[key("task in", old["state"], session_id, name)] = None
    _count(summary, task, 1)
    TASK_WORK.move(None if old is None else _open_state(old), _open_state(task), rows)
    rows[row] = record.value
    rows[key("task of", task["task_id"], session_id, name)] = row
    rows[key("task in", task["state"], session_id, name)] = row
    rows[summary_key] = orjson.dumps(summary)


def _open_state(task: Values) -> str | None:
    """Return the state of a task that is not done; None for a task of another protocol too."""
    is_done = task["state"] in PROFILES[task["profile"]].done
    state: str | None = None if is_done or task["origin"] is not None else task["state"]
    return state


def _count(summary: Json, task: Values, by: int) -> None:
    states, state = summary["tasks_by_state"], task["state"]
    states[state] = states.get(state, 0) + by
    if states[state] == 0:
        del states[state]
    if task["origin"] is None and state in PROFILES[task["profile"]].active:
        if by > 0:
            summary["active"].append(task["task_id"])
        else:
            summary["active"].remove(task["task_id"])
