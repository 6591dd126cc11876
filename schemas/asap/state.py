"""The state of event-sourced tasks, folded from their facts (ASAP guide, 4.5); pure.

Version n is the state after the fact with sequence n.  Facts are Avro values of `AsapEvent`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Literal, NamedTuple

import orjson
from pydantic import TypeAdapter

from schemas.asap.constants import EXT_SNAPSHOT
from schemas.asap.forms import iso_of_ms, micros
from schemas.asap.keys import restored_version

JsonObject = dict[str, Any]
Fact = dict[str, Any]

_TIME = TypeAdapter(datetime)
_WITHOUT_UPDATE = frozenset({"state_read", "state_saved", "message_forwarded", "artifact_noted"})
"""The rules of facts that do not change `updated_at` (ASAP guide, 5.4)."""


class Change(NamedTuple):
    """A change of a task's saved state.

    data: the saved state, or the merge patch.  version, id, created_at (microseconds): as
    requested by the worker.
    """

    kind: Literal["save", "patch", "delete"]
    data: JsonObject
    checkpoint: bool = False
    version: int | None = None
    id: str | None = None
    created_at: int | None = None


class StateAt(NamedTuple):
    """The state after one event.  task: a Task as JSON.  checkpoint: the event is a checkpoint."""

    version: int
    task: JsonObject
    data: JsonObject
    checkpoint: bool


def change_of(envelope: JsonObject) -> Change | None:
    """Return the change in a valid envelope in canonical form; None if it changes no state.

    Returns None for a StateRestore too, which the processor handles separately.
    """
    payload_type, payload = envelope["payload_type"], envelope["payload"]
    if payload_type == "TaskResponse":
        return _final_state_change(payload["final_state"])
    if payload_type == "TaskUpdate":
        return _snapshot_change((envelope["extensions"] or {}).get(EXT_SNAPSHOT))
    return None


def _final_state_change(state: JsonObject | None) -> Change | None:
    if state is None:
        return None
    data = state.get("data")
    return Change("save", data if isinstance(data, dict) else state)


def _snapshot_change(members: JsonObject | None) -> Change | None:
    if members is None:
        return None
    checkpoint, version = bool(members.get("checkpoint")), members.get("version")
    version = None if version is None else int(version)
    if "data" in members:
        made = members.get("created_at")
        created_at = None if made is None else micros(_TIME.validate_python(made))
        return Change("save", members["data"], checkpoint, version, members.get("id"), created_at)
    if "patch" in members:
        return Change("patch", members["patch"], checkpoint, version)
    return Change("delete", {}, checkpoint, version)


def merge_patch(target: Any, patch: Any) -> Any:
    """Apply a patch by RFC 7396.  The inputs stay unmodified; the result shares their values."""
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
    """Return the data of an event-sourced task after a change."""
    if change is None or change.kind == "delete":
        return data
    merged: JsonObject = change.data
    return merge_patch(data, merged) if change.kind == "patch" else merged


def replay(facts: Iterable[Fact], at: int | None = None) -> StateAt | None:
    """Return the state after all facts of one task, or after the one with sequence `at`.

    facts: those with a sequence, ascending from 1.  None without facts, or if there is no fact with
    that sequence.
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
    """Return the state after one more fact.  state: None before the first.

    data_at: returns the data of an earlier version, for a restore.
    """
    payload_type, payload, extensions = _decode_envelope(fact["envelope"])
    if state is None:
        return StateAt(fact["sequence"], _initial_task(fact, payload), {}, False)
    task = {**state.task, "status": fact["status"] or state.task["status"]}
    if fact["rule"] not in _WITHOUT_UPDATE:
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


def _decode_envelope(envelope: JsonObject | None) -> tuple[str, JsonObject, JsonObject]:
    """Return the payload type, payload and extensions of a fact's envelope; empty without one."""
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
        return _final_state_change(orjson.loads(payload["final_state_json"]))
    return _snapshot_change(extensions.get(EXT_SNAPSHOT)) if payload_type == "TaskUpdate" else None


def _initial_task(fact: Fact, payload: JsonObject) -> JsonObject:
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
