"""Tool calls: each begins once and ends once, reported in any order (SAOP guide, 4.4)."""

from __future__ import annotations

from functools import partial

from schemas.rtes import rules
from streams.engine.processor import AvroValue
from streams.protocols.saop.rtes.event import Event, Recording, Refusal
from streams.protocols.saop.rtes.session import CALLS, SessionState, recall, remember
from topology.keys import composite
from topology.machine import step
from topology.machines.rtes_call import MACHINE, CallEvent, CallState
from topology.saop import RTES_CALLS


def call_key(session_id: str, origin: str | None, call_id: str) -> str:
    """Return the key of a call; calls of other protocols' processors have keys of their own."""
    return composite(session_id, origin or "", call_id)


def record_invoked(event: Event, session: SessionState) -> Recording | Refusal:
    """Record the beginning of a call, unless it was recorded before."""
    row = _row(event, session)
    state = _state(row)
    after = step(MACHINE, state, CallEvent.INVOKED)
    if after is None:
        assert row is not None
        evidence = {"call_id": event.payload["call_id"], "sequence": row["invoked_sequence"]}
        return Refusal(rules.CALL_ALREADY_INVOKED, evidence, "/payload/call_id")
    link = None if event.origin else session.active_task
    flags = ("out_of_order",) if state is CallState.UNPAIRED else ()
    changed = {
        "state": after,
        "tool": event.payload["tool"],
        "task_id": link,
        "completed_sequence": row["completed_sequence"] if row else None,
    }
    apply = partial(_put_row, event, session, changed, "invoked_sequence")
    return Recording(task_id=link, flags=flags, apply=apply)


def record_completed(event: Event, session: SessionState) -> Recording | Refusal:
    """Record the end of a call, unless it was recorded before."""
    row = _row(event, session)
    state = _state(row)
    after = step(MACHINE, state, CallEvent.COMPLETED)
    if after is None:
        assert row is not None
        evidence = {"call_id": event.payload["call_id"], "sequence": row["completed_sequence"]}
        return Refusal(rules.CALL_ALREADY_COMPLETED, evidence, "/payload/call_id")
    if row is None:
        link = None if event.origin else session.active_task
        flags: tuple[str, ...] = ("unpaired",)
        changed = {"tool": event.payload["tool"], "task_id": link, "invoked_sequence": None}
    else:
        link, changed = row["task_id"], row
        flags = () if row["tool"] == event.payload["tool"] else ("tool_mismatch",)
    changed = {**changed, "state": after}
    apply = partial(_put_row, event, session, changed, "completed_sequence")
    return Recording(task_id=link, flags=flags, apply=apply)


def _row(event: Event, session: SessionState) -> AvroValue | None:
    """Return the call's row; a closed call is forgotten like an event id."""
    key = call_key(session.session_id, event.origin, event.payload["call_id"])
    row = session.work.rows(RTES_CALLS).get(key)
    if row is None or row["state"] == CallState.OPEN:
        return row
    return recall(CALLS, row, session)


def _state(row: AvroValue | None) -> CallState:
    return CallState.NONE if row is None else CallState(row["state"])


def _put_row(
    event: Event, session: SessionState, row: AvroValue, half: str, record: AvroValue
) -> None:
    """Write the call's row.  half: the field for the sequence of this one of its two events."""
    key = call_key(session.session_id, event.origin, event.payload["call_id"])
    last = {"last_sequence": record["sequence"], "last_at": record["recorded_at"]}
    row = {**row, half: record["sequence"], **last}
    if row["state"] == CallState.OPEN:
        session.work.rows(RTES_CALLS).put(key, row)
    else:
        remember(CALLS, key, row, session.work)
