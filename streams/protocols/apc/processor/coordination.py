"""Coordination of a session and its agents: events are raised, applied to the state, and noted.

An update belongs to one fact.  However many events it raises, it writes each changed row once, at
the end.  An event without an edge, or whose guard fails, adds a note and changes nothing; a row
stores only the notes of events that moved it.

`session_events` and `agent_events` define which events a packet raises.
"""

from __future__ import annotations

from typing import NamedTuple

from schemas import uuid5_url
from streams.engine.headers import iso
from streams.engine.processor import AvroValue
from streams.protocols.apc.processor.batch import BatchContext, EventContext
from streams.protocols.apc.processor.commitments import Conflict
from topology.keys import composite
from topology.machine import step
from topology.machines.apc_inter import MACHINE as INTER
from topology.machines.apc_inter import InterState
from topology.machines.apc_intra import MACHINE as INTRA
from topology.machines.apc_intra import IntraEvent, IntraState

HISTORY = 20
"""The number of notes that a row stores, the newest of those that moved it."""

_APPLIED, _NO_EDGE, _GUARD_FAILED, _UNKNOWN = "applied", "no_edge", "guard_failed", "unknown_event"


def conflict_note(conflict: Conflict, packet_id: str, at: int) -> AvroValue:
    """Return the note of an event that a refused packet would have raised; no row has it."""
    return {
        "machine": "inter" if conflict.agent_id is None else "intra",
        "agent_id": conflict.agent_id,
        "event": conflict.event,
        "from_state": conflict.from_state,
        "to_state": None,
        "applied": False,
        "why": conflict.why,
        "at": at,
        "packet_id": packet_id,
    }


class AckOutcome(NamedTuple):
    """The event that an ACK or NACK raises in the sender that waits for the packet of `row`."""

    event: IntraEvent
    row: AvroValue


class CoordinationUpdate:
    """The changes of coordination that one fact causes.

    notes: those that the fact carries.  ack_outcome: of a packet that is an ACK or NACK.
    waiting_agent: the agent that began to wait for its packet.
    """

    __slots__ = (
        "_changed_rows", "_transitions", "ack_outcome", "context", "event_context", "notes",
        "packet_id", "session_id", "waiting_agent",
    )  # fmt: skip

    def __init__(
        self,
        context: BatchContext,
        session_id: str,
        packet_id: str,
        event_context: EventContext,
        ack_outcome: AckOutcome | None = None,
    ) -> None:
        self.context = context
        self.session_id = session_id
        self.packet_id = packet_id
        self.event_context = event_context
        self.ack_outcome = ack_outcome
        self.notes: list[AvroValue] = []
        self.waiting_agent: str | None = None
        self._changed_rows: dict[str, AvroValue] = {}
        self._transitions: list[tuple[str, str]] = []

    def session(self) -> AvroValue:
        """Return the row of the session; create it for the session's first accepted packet."""
        row = self._row(composite(self.session_id))
        if row is None:
            row = _new_row(self.session_id, None, "inter", str(INTER.initial))
            row["opened_at"] = self.event_context.at
            self.mark_changed(row)
            self._transitions.append(("none", row["state"]))
        return row

    def agent(self, agent_id: str) -> AvroValue | None:
        return self._row(composite(self.session_id, agent_id))

    def _row(self, key: str) -> AvroValue | None:
        return self._changed_rows.get(key) or self.context.coordination.get(key)

    def mark_changed(self, row: AvroValue) -> None:
        """Note that this row has to be written."""
        key, agent_id = composite(self.session_id), row["agent_id"]
        if agent_id is not None:
            key = composite(self.session_id, agent_id)
        self._changed_rows[key] = row

    def raise_in_session(self, event: str, *, guard: bool = True, by: str = "signal") -> None:
        """Raise an event of the session.

        guard: whether the edge's condition holds.  by: what halts the session, if the event does.
        """
        row = self.session()
        before = row["state"]
        after = step(INTER, before, event)
        if not self._apply(row, event, None if after is None else str(after), guard):
            return
        self._transitions.append((before, row["state"]))
        if after is InterState.DIFFERENTIATED_RESEARCH:
            row["swarms_ready"] = []
        elif after is InterState.EXECUTION:
            row["artifact_seen"] = row["eval_seen"] = False
        elif after is InterState.HALTED:
            row["halted_by"] = by

    def raise_in_agent(self, agent_id: str, event: str) -> None:
        """Raise an event of one agent."""
        row = self.agent(agent_id)
        if row is None:
            row = _new_row(self.session_id, agent_id, "intra", str(INTRA.initial))
        after = step(INTRA, row["state"], event)
        if not self._apply(row, event, None if after is None else str(after), True):
            return
        waits = after is IntraState.WAIT_FOR_ACK
        row["awaiting_packet_id"] = self.packet_id if waits else None
        if waits:
            self.waiting_agent = agent_id

    def note_unknown(self, event: str) -> None:
        row = self.session()
        self.notes.append(self._make_note(row, event, None, _UNKNOWN))

    def write(self) -> None:
        """Write the changed rows, then send the session's transitions to RTES."""
        for key, row in self._changed_rows.items():
            row["updated_at"] = self.event_context.at
            row["version"] += 1
            self.context.coordination.put(key, row)
        for n, (from_state, to_state) in enumerate(self._transitions):
            self._emit_rtes_event(n, from_state, to_state)

    def _apply(self, row: AvroValue, event: str, target: str | None, guard: bool) -> bool:
        """Note the event; apply it to the row if the state has an edge and the guard holds."""
        if target is None or not guard:
            why = _NO_EDGE if target is None else _GUARD_FAILED
            self.notes.append(self._make_note(row, event, None, why))
            return False
        note = self._make_note(row, event, target, _APPLIED)
        self.notes.append(note)
        row["state"] = target
        row["history"] = [*row["history"][1 - HISTORY :], note]
        self.mark_changed(row)
        return True

    def _make_note(self, row: AvroValue, event: str, target: str | None, why: str) -> AvroValue:
        return {
            "machine": row["machine"],
            "agent_id": row["agent_id"],
            "event": str(event),
            "from_state": row["state"],
            "to_state": target,
            "applied": target is not None,
            "why": why,
            "at": self.event_context.at,
            "packet_id": self.packet_id,
        }

    def _rtes_source(self) -> str:
        """Return what events to RTES are named after: a record, or a timer of its packet."""
        cause, event_id = self.event_context.cause, self.event_context.event_id
        return cause if event_id == f"{cause}/0" else event_id

    def _emit_rtes_event(self, n: int, from_state: str, to_state: str) -> None:
        """Send a transition of the session to RTES, in which the session is one task."""
        event_context = self.event_context
        event_id = uuid5_url(f"headrace:apc:{self._rtes_source()}/{n}")
        transition = {
            "task_id": self.session_id,
            "from_state": from_state,
            "to_state": to_state,
            "git_hash": None,
            "timestamp": iso(event_context.at).decode(),
        }
        record = "headrace.rtes.TaskTransition"
        event_context.emit_rtes_event("apc", event_id, self.session_id, record, transition)


def _new_row(session_id: str, agent_id: str | None, machine: str, state: str) -> AvroValue:
    return {
        "session_id": session_id,
        "agent_id": agent_id,
        "machine": machine,
        "state": state,
        "history": [],
        "swarms": [],
        "swarms_ready": [],
        "open_vetoes": [],
        "artifact_seen": False,
        "eval_seen": False,
        "generation_opened": False,
        "awaiting_packet_id": None,
        "halted_by": None,
        "limits": None,
        "used": None,
        "opened_at": None,
        "updated_at": 0,
        "version": 0,
    }
