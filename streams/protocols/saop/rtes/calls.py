"""A tool call begins once and ends once, told in whatever order (spec 4.4)."""

from __future__ import annotations

from functools import partial

from schemas.rtes import rules
from streams.engine.processor import AvroValue
from streams.protocols.saop.rtes import windows
from streams.protocols.saop.rtes.findings import Finding
from streams.protocols.saop.rtes.inbound import Event
from streams.protocols.saop.rtes.rejections import Refusal
from streams.protocols.saop.rtes.scene import Scene
from topology.keys import composite
from topology.machine import step
from topology.machines.rtes_call import MACHINE, CallEvent, CallState
from topology.saop import RTES_CALLS


def call_key(session_id: str, origin: str | None, call_id: str) -> str:
    """Calls of other protocols' processors have names of their own."""
    return composite(session_id, origin or "", call_id)


def invoked(event: Event, scene: Scene) -> Finding | Refusal:
    row = _row(event, scene)
    state = _state(row)
    after = step(MACHINE, state, CallEvent.INVOKED)
    if after is None:
        assert row is not None
        figures = {"call_id": event.payload["call_id"], "sequence": row["invoked_sequence"]}
        return Refusal(rules.CALL_ALREADY_INVOKED, figures, "/payload/call_id")
    link = None if event.origin else scene.active_task
    flags = ("out_of_order",) if state is CallState.UNPAIRED else ()
    kept = {
        "state": after,
        "tool": event.payload["tool"],
        "task_id": link,
        "completed_sequence": row["completed_sequence"] if row else None,
    }
    return Finding(
        task_id=link, flags=flags, keep=partial(_keep, event, scene, kept, "invoked_sequence")
    )


def completed(event: Event, scene: Scene) -> Finding | Refusal:
    row = _row(event, scene)
    state = _state(row)
    after = step(MACHINE, state, CallEvent.COMPLETED)
    if after is None:
        assert row is not None
        figures = {"call_id": event.payload["call_id"], "sequence": row["completed_sequence"]}
        return Refusal(rules.CALL_ALREADY_COMPLETED, figures, "/payload/call_id")
    if row is None:
        link = None if event.origin else scene.active_task
        flags: tuple[str, ...] = ("unpaired",)
        kept = {"tool": event.payload["tool"], "task_id": link, "invoked_sequence": None}
    else:
        link, kept = row["task_id"], row
        flags = () if row["tool"] == event.payload["tool"] else ("tool_mismatch",)
    kept = {**kept, "state": after}
    return Finding(
        task_id=link, flags=flags, keep=partial(_keep, event, scene, kept, "completed_sequence")
    )


def _row(event: Event, scene: Scene) -> AvroValue | None:
    """The call's row; a closed call is forgotten like an event id."""
    key = call_key(scene.session_id, event.origin, event.payload["call_id"])
    row = scene.work.rows(RTES_CALLS).get(key)
    if row is None or row["state"] == CallState.OPEN:
        return row
    return windows.known(windows.CALLS, row, scene)


def _state(row: AvroValue | None) -> CallState:
    return CallState.NONE if row is None else CallState(row["state"])


def _keep(event: Event, scene: Scene, row: AvroValue, half: str, record: AvroValue) -> None:
    """half: the field for the sequence of this one of the call's two events."""
    key = call_key(scene.session_id, event.origin, event.payload["call_id"])
    last = {"last_sequence": record["sequence"], "last_at": record["recorded_at"]}
    row = {**row, half: record["sequence"], **last}
    if row["state"] == CallState.OPEN:
        scene.work.rows(RTES_CALLS).put(key, row)
    else:
        windows.remember(windows.CALLS, key, row, scene.work)
