"""Saved states of a task; of an event-sourced one the state after any event."""

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
from streams.protocols.asap.queries.tasks import found
from streams.views.keys import key, text_key
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, json_of
from topology.asap import ASAP_SNAPSHOTS

LATEST, CHECKPOINT = "latest", "checkpoint"
_VERSION = re.compile(r"[1-9][0-9]{0,15}", re.ASCII)
_LISTED = ("id", "version", "checkpoint", "created_at", "restored_from")
_SHOWN = ("id", "task_id", "version", "data", "checkpoint", "created_at")


def snapshots(view: ReadOnlyStore, id: str) -> Json:
    """Those that exist, ascending, without their data.  Raises NotFound."""
    row = found(view, id)
    stored = (_json(each) for _, each in view.scan(_prefix(row["task_id"])))
    shown = [{name: each[name] for name in _LISTED} for each in stored]
    head = {"task_id": row["task_id"], "snapshot_mark": row["snapshot_mark"]}
    return {**head, "snapshots": shown}


def snapshot(view: ReadOnlyStore, id: str, version: str) -> Json:
    """A StateSnapshot.  version: a number, `latest` or `checkpoint`.  Raises NotFound, Gone."""
    row = found(view, id)
    task_id = row["task_id"]
    if row["state_mode"] == EVENT_SOURCED and row["events_available"]:
        version = _version_of(view, row, version)
    stored = _stored(view, task_id, version)
    if stored is None and _folds(view, row, version):
        return _folded(view, row, int(version))
    if stored is None:
        raise NotFound(f"task {task_id} has no snapshot {version}", "snapshot_not_found")
    return {name: stored[name] for name in _SHOWN}


def _version_of(view: ReadOnlyStore, row: Json, version: str) -> str:
    """Of an event-sourced task: the number that is meant, where there is one."""
    if version == LATEST:
        return str(last_version(view, row))
    if version == CHECKPOINT:
        checkpoint = last_checkpoint(view, row["task_id"])
        return version if checkpoint is None else str(checkpoint)
    return version


def _folds(view: ReadOnlyStore, row: Json, version: str) -> bool:
    """Whether the task was in a state of that version."""
    is_one = row["state_mode"] == EVENT_SOURCED and _number(version)
    return is_one and int(version) <= last_version(view, row)


def _number(version: str) -> bool:
    return _VERSION.fullmatch(version) is not None


def _stored(view: ReadOnlyStore, task_id: str, version: str) -> Json | None:
    prefix = _prefix(task_id)
    if _number(version):
        (row,) = view.get_many([prefix + key(int(version))])
        return None if row is None else _json(row)
    if version not in (LATEST, CHECKPOINT):
        return None
    newest = (_json(row) for _, row in view.scan(prefix, reverse=True))
    return next((each for each in newest if version == LATEST or each["checkpoint"]), None)


def _folded(view: ReadOnlyStore, row: Json, version: int) -> Json:
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
    """An AsapSnapshot."""
    return json_of(ASAP_SNAPSHOTS, row)
