"""The events of a task: what each change of its run is in a stream.

They are made of the facts on the log, so every client, at every gateway and after every restart,
gets the same events with the same ids.
"""

from __future__ import annotations

from typing import NamedTuple

from schemas.summit.words import COMPLETED, TERMINAL
from streams.doors.a2a.cursors import Cursor
from streams.doors.a2a.protocol import EXTENSION, Json
from streams.doors.a2a.tasks import (
    RUNNING,
    Snapshot,
    agent_message,
    artifact_of,
    ids_of,
    metrics_of,
    reason_of,
    status_of,
)
from streams.protocols.summit.queries import runs
from streams.protocols.summit.queries.changes import Change, changes
from streams.views.reads import ReadOnlyStore

_OF_CRITICS = "verification"


class Event(NamedTuple):
    """An event of a stream.  body: StreamResponse, JSON."""

    cursor: Cursor
    body: Json


class Batch(NamedTuple):
    """The next events of a task.

    key: that of the last change that was read.  is_last: no more will come.
    is_short: the view has not yet read all that has happened.
    """

    events: list[Event]
    key: bytes | None
    is_last: bool = False
    is_short: bool = False


def first_event(snapshot: Snapshot) -> Event:
    """Return the event with which a stream begins."""
    task = snapshot.task
    metadata = {EXTENSION: {"id": str(snapshot.cursor), **task["metadata"][EXTENSION]}}
    return Event(snapshot.cursor, {"task": {**task, "metadata": metadata}})


def read_events(
    view: ReadOnlyStore,
    task_id: str,
    after: Cursor,
    key: bytes | None,
    modes: tuple[str, ...],
    limit: int,
) -> Batch:
    """Return the events of a task after one, at most about `limit`.

    key: that of the last change that is known, None if there is none.
    """
    row = runs.require_row(view, task_id)
    events: list[Event] = []
    version = after.version
    for change in changes(view, task_id, key):
        is_end = change.fact["toState"] in TERMINAL
        if is_end and row["version"] < change.version:
            return Batch(events, key, is_short=True)
        for event in _events_of(view, row, change, modes):
            if event.cursor.order > after.order:
                events.append(event)
        key, version = change.key, change.version
        if is_end or len(events) >= limit:
            return Batch(events, key, is_last=is_end)
    return Batch(events, key, is_short=row["version"] > version)


def _events_of(
    view: ReadOnlyStore, row: Json, change: Change, modes: tuple[str, ...]
) -> list[Event]:
    """Return the events of one change.  row: of a version that has seen it, if it ended the run."""
    fact, version = change.fact, change.version
    if fact["subject"] == "judge" or fact["replyKind"] == _OF_CRITICS:
        return []
    events: list[Event] = []
    if fact["toState"] == COMPLETED:
        cursor = Cursor(version, is_artifact=True)
        artifact = artifact_of(view, row, fact["output"], modes)
        update = {**ids_of(row), "artifact": artifact, "lastChunk": True}
        update["metadata"] = _metadata(cursor, fact)
        events.append(Event(cursor, {"artifactUpdate": update}))
    text, state = fact["replyMessage"], fact["toState"] or RUNNING
    messages = [] if text is None else [agent_message(row, version, text)]
    status = status_of(row, state, fact["at"], version, messages)
    cursor = Cursor(version)
    update = {**ids_of(row), "status": status, "metadata": _metadata(cursor, fact)}
    return [*events, Event(cursor, {"statusUpdate": update})]


def _metadata(cursor: Cursor, fact: Json) -> Json:
    members = {
        "id": str(cursor),
        "sequence": cursor.version,
        "cause": fact["cause"],
        "rule": reason_of(fact),
        "metrics": metrics_of(fact),
    }
    return {EXTENSION: {name: value for name, value in members.items() if value is not None}}
