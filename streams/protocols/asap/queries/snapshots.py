"""Queries of a task's saved states; for an event-sourced one, of the state after any event."""

from __future__ import annotations

import re

from schemas.asap import iso_of_ms, snapshot_id
from streams.errors import NotFound
from streams.protocols.asap.queries.events import (
    EVENT_SOURCED,
    fact_at,
    last_checkpoint,
    last_version,
    state_at,
)
from streams.protocols.asap.queries.tasks import require_task
from streams.views.keys import key, text_key
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, json_of
from topology.asap import ASAP_SNAPSHOTS

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
