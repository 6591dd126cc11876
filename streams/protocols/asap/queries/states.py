"""Queries of a task's events and states: after any event, and as saved (ASAP guide, 4.5)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

from schemas import decode
from schemas.asap import iso_of_ms, snapshot_id
from schemas.asap.state import StateAt, change_of, replay
from streams.errors import Conflict, Gone, NotFound
from streams.protocols.asap.queries.tasks import PAGED, paged, require_task
from streams.views.keys import key, number_at_end, text_key
from streams.views.pages import Entries, page_of, rows_by_index, rows_of, rows_reversed
from streams.views.parse import QueryParams
from streams.views.query_params import MAX_NUMBER, Parameter, ValueForm
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, json_of
from topology.asap import ASAP_EVENTS, ASAP_SNAPSHOTS

AT = Parameter("at", "as it was after the event of this sequence", ValueForm.WHOLE, low=-MAX_NUMBER)
EVENTS_PARAMS = (AT, *PAGED)
EVENT_SOURCED = "event-sourced"


def events(view: ReadOnlyStore, id: str, params: QueryParams) -> Json:
    """Return the facts with a sequence, ascending; with `at` those up to it and the state after.

    Raises NotFound, Conflict, Gone.
    """
    row, at = require_task(view, id), params.number("at")
    state = {} if at is None else _state_members(at, state_at(view, row, at))
    check_events_available(row)
    prefix, facts = _facts(view, row["task_id"], at, partial(json_of, ASAP_EVENTS))
    page = page_of(params, prefix, facts)
    head = {"task_id": row["task_id"], "state_mode": row["state_mode"]}
    return {**head, **paged("events", page), **state}


def check_events_available(row: Json) -> None:
    """Raise Gone when the task's events have expired."""
    if not row["events_available"]:
        raise Gone(f"the events of task {row['task_id']} have expired", "events_expired")


def task_at(view: ReadOnlyStore, id: str, at: int) -> Json:
    """Return the task after an event.  Raises NotFound, Conflict, Gone."""
    row = require_task(view, id)
    return {"task_id": row["task_id"], **_state_members(at, state_at(view, row, at))}


def _state_members(at: int, state: StateAt) -> Json:
    members = {"task": state.task, "data": state.data, "checkpoint": state.checkpoint}
    return {"version": at, "state": members}


def state_at(view: ReadOnlyStore, row: Json, at: int) -> StateAt:
    """Fold the state of an event-sourced task from its events.  Raises NotFound, Conflict, Gone."""
    task_id = row["task_id"]
    if row["state_mode"] != EVENT_SOURCED:
        message = f"task {task_id} is not event-sourced: it has snapshots, and no state at {at}"
        raise Conflict(message, "state_mode_conflict")
    last = last_version(view, row)
    if not 1 <= at <= last:
        raise NotFound(f"task {task_id} has versions 1 to {last}, not {at}", "version_not_found")
    check_events_available(row)
    _, facts = _facts(view, task_id, at, _avro)
    state = replay((fact for _, fact in facts(None) if fact is not None), at)
    assert state is not None, "there is an event of that sequence"
    return state


def last_version(view: ReadOnlyStore, row: Json) -> int:
    """Return the sequence of the latest event in the view, 0 for none.

    The row may be ahead of the events or behind them: they come from two topics.
    """
    if not row["events_available"]:
        return int(row["sequence"])
    newest = islice(view.scan(key("asap event") + text_key(row["task_id"]), reverse=True), 1)
    return next((number_at_end(index_key) for index_key, _ in newest), 0)


def fact_at(view: ReadOnlyStore, task_id: str, sequence: int) -> Any:
    """Return the AsapEvent with that sequence, as Avro."""
    (fact_key,) = view.get_many([key("asap event") + text_key(task_id) + key(sequence)])
    (fact,) = view.get_many([fact_key or b""])
    return _avro(fact or b"")


def last_checkpoint(view: ReadOnlyStore, task_id: str) -> int | None:
    """Return the sequence of the latest event that its worker marked as a checkpoint."""
    prefix = key("asap event") + text_key(task_id)
    facts = rows_by_index(
        view, rows_reversed(view, prefix, lambda row_key: row_key), partial(json_of, ASAP_EVENTS)
    )
    for _, fact in facts(None):
        change = None if fact is None or fact["envelope"] is None else change_of(fact["envelope"])
        if change is not None and change.checkpoint:
            return int(fact["sequence"])
    return None


def _facts(
    view: ReadOnlyStore, task_id: str, last: int | None, item: Callable[[bytes], Any]
) -> tuple[bytes, Callable[[bytes | None], Entries]]:
    """Return the index prefix of a task's facts, and the facts up to the sequence `last`."""
    prefix = key("asap event") + text_key(task_id)
    end = None if last is None else prefix + key(last)
    return prefix, rows_by_index(
        view, rows_of(view, prefix, lambda row_key: row_key, end=end), item
    )


def _avro(fact: bytes) -> Any:
    return decode(fact, ASAP_EVENTS.record or "").value


LATEST, CHECKPOINT = "latest", "checkpoint"
_VERSION = re.compile(r"[1-9][0-9]{0,15}", re.ASCII)
_LIST_MEMBERS = ("id", "version", "checkpoint", "created_at", "restored_from")
_SNAPSHOT_MEMBERS = ("id", "task_id", "version", "data", "checkpoint", "created_at")


def snapshots(view: ReadOnlyStore, id: str) -> Json:
    """Return the existing snapshots, ascending, without their data.  Raises NotFound."""
    row = require_task(view, id)
    stored = (_json(each) for _, each in view.scan(_prefix(row["task_id"])))
    rendered = [{name: each[name] for name in _LIST_MEMBERS} for each in stored]
    head = {"task_id": row["task_id"], "snapshot_mark": row["snapshot_mark"]}
    return {**head, "snapshots": rendered}


def snapshot(view: ReadOnlyStore, id: str, version: str) -> Json:
    """Return a StateSnapshot.  version: a number, `latest` or `checkpoint`.

    Raises NotFound, Gone.
    """
    row = require_task(view, id)
    task_id = row["task_id"]
    if row["state_mode"] == EVENT_SOURCED and row["events_available"]:
        version = _version_of(view, row, version)
    stored = _find_stored(view, task_id, version)
    if stored is None and _can_fold(view, row, version):
        return _fold_snapshot(view, row, int(version))
    if stored is None:
        raise NotFound(f"task {task_id} has no snapshot {version}", "snapshot_not_found")
    return {name: stored[name] for name in _SNAPSHOT_MEMBERS}


def _version_of(view: ReadOnlyStore, row: Json, version: str) -> str:
    """Return the number of a version of an event-sourced task, if it has one."""
    if version == LATEST:
        return str(last_version(view, row))
    if version == CHECKPOINT:
        checkpoint = last_checkpoint(view, row["task_id"])
        return version if checkpoint is None else str(checkpoint)
    return version


def _can_fold(view: ReadOnlyStore, row: Json, version: str) -> bool:
    """Return whether the state of that version can be folded from events."""
    is_version = row["state_mode"] == EVENT_SOURCED and _is_number(version)
    return is_version and int(version) <= last_version(view, row)


def _is_number(version: str) -> bool:
    return _VERSION.fullmatch(version) is not None


def _find_stored(view: ReadOnlyStore, task_id: str, version: str) -> Json | None:
    prefix = _prefix(task_id)
    if _is_number(version):
        (row,) = view.get_many([prefix + key(int(version))])
        return None if row is None else _json(row)
    if version not in (LATEST, CHECKPOINT):
        return None
    newest = (_json(row) for _, row in view.scan(prefix, reverse=True))
    return next((each for each in newest if version == LATEST or each["checkpoint"]), None)


def _fold_snapshot(view: ReadOnlyStore, row: Json, version: int) -> Json:
    state = state_at(view, row, version)
    return {
        "id": snapshot_id(row["task_id"], version),
        "task_id": row["task_id"],
        "version": version,
        "data": state.data,
        "checkpoint": state.checkpoint,
        "created_at": iso_of_ms(fact_at(view, row["task_id"], version)["at"]),
    }


def _prefix(task_id: str) -> bytes:
    return key("asap snapshot") + text_key(task_id)


def _json(row: bytes) -> Json:
    """Return an AsapSnapshot as JSON."""
    return json_of(ASAP_SNAPSHOTS, row)
