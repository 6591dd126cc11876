"""The state of event-sourced tasks, folded from their facts (spec 4.5); pure.

Version n is the state after the fact with sequence n.  Facts are Avro values of `AsapEvent`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Literal, NamedTuple

import orjson
from pydantic import TypeAdapter

from schemas.asap.forms import iso_of_ms, micros
from schemas.asap.keys import restored_version
from schemas.asap.words import EXT_SNAPSHOT

JsonObject = dict[str, Any]
Fact = dict[str, Any]

_TIME = TypeAdapter(datetime)
_QUIET = frozenset({"state_read", "state_saved", "message_forwarded", "artifact_noted"})
"""Rules of facts that leave `updated_at` as it was (spec 5.4)."""


class Change(NamedTuple):
    """What an envelope does to the saved state of its task.

    data: the state saved, or the merge patch.  version, id, created_at (microseconds): as the
    worker wants them.
    """

    kind: Literal["save", "patch", "delete"]
    data: JsonObject
    checkpoint: bool = False
    version: int | None = None
    id: str | None = None
    created_at: int | None = None


class StateAt(NamedTuple):
    """task: a Task as JSON.  checkpoint: the fact of this version marked a point to return to."""

    version: int
    task: JsonObject
    data: JsonObject
    checkpoint: bool


def change_of(envelope: JsonObject) -> Change | None:
    """Of a valid envelope in canonical form; None for one that leaves the state as it is.

    A StateRestore is none, because what it does stands elsewhere.
    """
    payload_type, payload = envelope["payload_type"], envelope["payload"]
    if payload_type == "TaskResponse":
        return _final(payload["final_state"])
    if payload_type == "TaskUpdate":
        return _told((envelope["extensions"] or {}).get(EXT_SNAPSHOT))
    return None


def _final(state: JsonObject | None) -> Change | None:
    if state is None:
        return None
    data = state.get("data")
    return Change("save", data if isinstance(data, dict) else state)


def _told(told: JsonObject | None) -> Change | None:
    if told is None:
        return None
    checkpoint, version = bool(told.get("checkpoint")), told.get("version")
    version = None if version is None else int(version)
    if "data" in told:
        made = told.get("created_at")
        created_at = None if made is None else micros(_TIME.validate_python(made))
        return Change("save", told["data"], checkpoint, version, told.get("id"), created_at)
    if "patch" in told:
        return Change("patch", told["patch"], checkpoint, version)
    return Change("delete", {}, checkpoint, version)


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7396.  The inputs stay as they are; the result shares with them what did not change."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def apply_change(data: JsonObject, change: Change | None) -> JsonObject:
    """The state after a change of an event-sourced task."""
    if change is None or change.kind == "delete":
        return data
    merged: JsonObject = change.data
    return merge_patch(data, merged) if change.kind == "patch" else merged


def replay(facts: Iterable[Fact], at: int | None = None) -> StateAt | None:
    """The state after the facts of one task, or after the one with sequence `at`.

    facts: those with a sequence, ascending from 1.  None for no facts, and for an `at` that is
    not among them.
    """
    state: StateAt | None = None
    history: dict[int, JsonObject] = {}
    for fact in facts:
        if at is not None and fact["sequence"] > at:
            break
        state = fold(state, fact, history.__getitem__)
        history[state.version] = state.data
    return None if state is None or (at is not None and state.version != at) else state


def fold(state: StateAt | None, fact: Fact, data_at: Callable[[int], JsonObject]) -> StateAt:
    """The state after one more fact.  state: None before the first.

    data_at: gives the data of an earlier version, for a restore.
    """
    payload_type, payload, extensions = _opened(fact["envelope"])
    if state is None:
        return StateAt(fact["sequence"], _created(fact, payload), {}, False)
    task = {**state.task, "status": fact["status"] or state.task["status"]}
    if fact["rule"] not in _QUIET:
        task["updated_at"] = iso_of_ms(fact["at"])
    if payload_type == "TaskUpdate" and fact["rule"] != "state_saved":
        progress = payload["progress_json"]
        task["progress"] = task["progress"] if progress is None else orjson.loads(progress)
    if payload_type == "StateRestore":
        version = restored_version(task["id"], payload["snapshot_id"])
        data = state.data if version is None else data_at(version)
        return StateAt(fact["sequence"], task, data, False)
    change = _change(payload_type, payload, extensions)
    checkpoint = change is not None and change.checkpoint
    return StateAt(fact["sequence"], task, apply_change(state.data, change), checkpoint)


def _opened(envelope: JsonObject | None) -> tuple[str, JsonObject, JsonObject]:
    """Payload type, payload and extensions of a fact's envelope; nothing of one without."""
    if envelope is None:
        return "", {}, {}
    record, payload = envelope["payload"]
    extensions = envelope["extensions_json"]
    return (
        record.rpartition(".Asap")[2],
        payload,
        {} if extensions is None else orjson.loads(extensions),
    )


def _change(payload_type: str, payload: JsonObject, extensions: JsonObject) -> Change | None:
    if payload_type == "TaskResponse" and payload["final_state_json"] is not None:
        return _final(orjson.loads(payload["final_state_json"]))
    return _told(extensions.get(EXT_SNAPSHOT)) if payload_type == "TaskUpdate" else None


def _created(fact: Fact, payload: JsonObject) -> JsonObject:
    at = iso_of_ms(fact["at"])
    return {
        "id": fact["task_id"],
        "conversation_id": payload["conversation_id"],
        "parent_task_id": payload["parent_task_id"],
        "status": fact["status"],
        "progress": None,
        "created_at": at,
        "updated_at": at,
    }
