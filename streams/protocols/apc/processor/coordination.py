"""Coordination as it is observed: an event is raised, applied to the state then current, noted.

An update is what one fact observes.  However many events it raises, each row it changes is written
once, at the end.  An event without an edge, or whose guard fails, leaves its note and no more; a
row holds the notes that moved it.

Which events a packet raises is in `session_events` and `agent_events`.
"""

from __future__ import annotations

from typing import NamedTuple

from schemas import uuid5_url
from streams.engine.headers import iso
from streams.engine.processor import AvroValue
from streams.protocols.apc.processor.batch import BatchContext, EventContext
from topology.keys import composite
from topology.machine import step
from topology.machines.apc_inter import MACHINE as INTER
from topology.machines.apc_inter import InterState
from topology.machines.apc_intra import MACHINE as INTRA
from topology.machines.apc_intra import IntraEvent, IntraState

HISTORY = 20
"""How many of the notes that moved it a row holds."""

_APPLIED, _NO_EDGE, _GUARD_FAILED, _UNKNOWN = "applied", "no_edge", "guard_failed", "unknown_event"


class AckOutcome(NamedTuple):
    """What an ACK or NACK means to whoever waits for the packet of `row`."""

    event: IntraEvent
    row: AvroValue


class CoordinationUpdate:
    """notes: what this fact shows.  answered: what the packet answered, if it is an ACK or NACK.

    published: the agent that came to wait for its packet.
    """

    __slots__ = (
        "_changed", "_moves", "answered", "context", "event_context", "notes", "packet_id",
        "published", "session_id",
    )  # fmt: skip

    def __init__(
        self,
        context: BatchContext,
        session_id: str,
        packet_id: str,
        event_context: EventContext,
        answered: AckOutcome | None = None,
    ) -> None:
        self.context = context
        self.session_id = session_id
        self.packet_id = packet_id
        self.event_context = event_context
        self.answered = answered
        self.notes: list[AvroValue] = []
        self.published: str | None = None
        self._changed: dict[str, AvroValue] = {}
        self._moves: list[tuple[str, str]] = []

    def session(self) -> AvroValue:
        """The row of the session, made if this is its first accepted packet."""
        row = self._row(composite(self.session_id))
        if row is None:
            row = _first(self.session_id, None, "inter", str(INTER.initial))
            self.change(row)
            self._moves.append(("none", row["state"]))
        return row

    def agent(self, agent_id: str) -> AvroValue | None:
        return self._row(composite(self.session_id, agent_id))

    def _row(self, key: str) -> AvroValue | None:
        return self._changed.get(key) or self.context.coordination.get(key)

    def change(self, row: AvroValue) -> None:
        """This row is another than before."""
        key, agent_id = composite(self.session_id), row["agent_id"]
        if agent_id is not None:
            key = composite(self.session_id, agent_id)
        self._changed[key] = row

    def in_session(self, event: str, *, guard: bool = True) -> None:
        """An event of the session.  guard: whether the edge's condition holds."""
        row = self.session()
        before = row["state"]
        after = step(INTER, before, event)
        if not self._note(row, event, None if after is None else str(after), guard):
            return
        self._moves.append((before, row["state"]))
        if after is InterState.DIFFERENTIATED_RESEARCH:
            row["swarms_ready"] = []
        elif after is InterState.EXECUTION:
            row["artifact_seen"] = row["eval_seen"] = False

    def in_agent(self, agent_id: str, event: str) -> None:
        """An event of one agent."""
        row = self.agent(agent_id)
        if row is None:
            row = _first(self.session_id, agent_id, "intra", str(INTRA.initial))
        after = step(INTRA, row["state"], event)
        if not self._note(row, event, None if after is None else str(after), True):
            return
        waits = after is IntraState.WAIT_FOR_ACK
        row["awaiting_packet_id"] = self.packet_id if waits else None
        if waits:
            self.published = agent_id

    def unknown(self, event: str) -> None:
        row = self.session()
        self.notes.append(self._noted(row, event, None, _UNKNOWN))

    def close(self) -> None:
        """Write the rows that changed, then report what the session did."""
        for key, row in self._changed.items():
            row["updated_at"] = self.event_context.at
            row["version"] += 1
            self.context.coordination.put(key, row)
        for n, (from_state, to_state) in enumerate(self._moves):
            self._emit_rtes_event(n, from_state, to_state)

    def _note(self, row: AvroValue, event: str, target: str | None, guard: bool) -> bool:
        """Note the event, and move the row if it has an edge that is open."""
        if target is None or not guard:
            why = _NO_EDGE if target is None else _GUARD_FAILED
            self.notes.append(self._noted(row, event, None, why))
            return False
        note = self._noted(row, event, target, _APPLIED)
        self.notes.append(note)
        row["state"] = target
        row["history"] = [*row["history"][1 - HISTORY :], note]
        self.change(row)
        return True

    def _noted(self, row: AvroValue, event: str, target: str | None, why: str) -> AvroValue:
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

    def _emit_rtes_event(self, n: int, from_state: str, to_state: str) -> None:
        """Send a transition of the session to RTES, where the session is one task."""
        event_context = self.event_context
        event_id = uuid5_url(f"headrace:apc:{event_context.cause}/{n}")
        transition = {
            "task_id": self.session_id,
            "from_state": from_state,
            "to_state": to_state,
            "git_hash": None,
            "timestamp": iso(event_context.at).decode(),
        }
        record = "headrace.rtes.TaskTransition"
        event_context.emit_rtes_event("apc", event_id, self.session_id, record, transition)


def _first(session_id: str, agent_id: str | None, machine: str, state: str) -> AvroValue:
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
        "updated_at": 0,
        "version": 0,
    }
