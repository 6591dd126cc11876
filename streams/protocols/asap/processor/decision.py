"""The context of ASAP's decisions: their ids and outputs, lineage nodes, expiring rows.

A row of an expiring table counts as absent once its time has passed, even if it still exists.  So
the timer may delete it late, without any effect on verdicts.

Source: ASAP guide, 5.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from schemas import asap, uuid5_url
from streams.engine.headers import iso
from streams.engine.processor import AvroValue, ProcessorContext, Timer
from streams.engine.records import Headers
from streams.processing.decision import Decision, traceparent_of
from topology.asap import ASAP_CALLS, ASAP_CLAIMS, ASAP_INBOX, ASAP_REDIRECTS, ASAP_SEEN
from topology.declarations import Table
from topology.keys import composite

HOUR_MS = 3_600_000
_FACT, _SNAPSHOT, _FIRST_ENVELOPE = 0, 1, 2
"""The numbers of the ids within one decision (ASAP guide, 1)."""


class DecisionContext(Decision):
    """The context of one decision of ASAP, with the ids that it generates."""

    __slots__ = ("_envelopes", "_events")

    def __init__(
        self, ctx: ProcessorContext, cause: str, at: int, traceparent: bytes | None = None
    ) -> None:
        super().__init__(ctx, cause, at, traceparent)
        self._envelopes = _FIRST_ENVELOPE
        self._events = 0

    def setting(self, name: str) -> Any:
        return self.work.settings[f"ASAP_{name}"]

    @property
    def time(self) -> str:
        """Return the time of the decision, ISO 8601 in UTC with milliseconds."""
        return iso(self.at).decode()

    @property
    def fact_id(self) -> str:
        return self.derived_id(_FACT)

    @property
    def snapshot_id(self) -> str:
        return self.derived_id(_SNAPSHOT)

    def derived_id(self, n: int) -> str:
        return asap.derived_id(self.cause, n, self.at)

    def next_envelope_id(self) -> str:
        """Return the id of the next envelope that the service sends in this decision."""
        envelope_id = self.derived_id(self._envelopes)
        self._envelopes += 1
        return envelope_id

    def deliver(self, recipient: str, envelope: AvroValue, id: str, headers: Headers = ()) -> None:
        """Write an envelope to an agent's inbox.  envelope: AsapEnvelope."""
        self.send(ASAP_INBOX, recipient, envelope, id, headers)

    def emit_event(self, session_id: str, record: str, payload: Mapping[str, Any]) -> None:
        """Emit an event to RTES.  record: of the payload, as `headrace.rtes.TaskTransition`."""
        event_id = uuid5_url(f"headrace:{self.cause}/{self._events}")
        self._events += 1
        self.emit_rtes_event("asap", event_id, session_id, record, payload)


def timer_context(timer: Timer, ctx: ProcessorContext) -> DecisionContext:
    """Return the context of a timer's decision; its time is the due time, however late it fires."""
    return due_context(ctx, timer.due_ms, timer.kind, timer.key, traceparent_of(timer))


def due_context(
    ctx: ProcessorContext, due_ms: int, kind: str, key: str, traceparent: bytes | None = None
) -> DecisionContext:
    """Return the same for a timer given by its members."""
    return DecisionContext(ctx, f"timer/{kind}/{key}/{due_ms}", due_ms, traceparent)


def task_node(task_id: str) -> str:
    return "asap:task:" + composite(task_id)


def envelope_node(envelope_id: str) -> str:
    return "asap:envelope:" + composite(envelope_id)


def snapshot_node(task_id: str, version: int) -> str:
    return "asap:snapshot:" + composite(task_id, str(version))


def artifact_node(task_id: str, artifact_id: str) -> str:
    return "asap:artifact:" + composite(task_id, artifact_id)


def call_node(key: str) -> str:
    return "asap:call:" + composite(key)


def conversation_node(conversation_id: str) -> str:
    return "asap:conversation:" + composite(conversation_id)


def trace_node(trace_id: str) -> str:
    return "trace:" + composite(trace_id)


class ExpiringTable(NamedTuple):
    """A table whose rows expire.  at: the field of the start.  hours: the setting of the time."""

    table: Table
    at: str
    hours: str


SEEN, CLAIM, REDIRECT, CLOSED_CALL = "seen", "claim", "redirect", "closed_call"
TTL_TABLES: Mapping[str, ExpiringTable] = {
    SEEN: ExpiringTable(ASAP_SEEN, "at", "ASAP_DEDUPE_HOURS"),
    CLAIM: ExpiringTable(ASAP_CLAIMS, "claimed_at", "ASAP_IDEMPOTENCY_HOURS"),
    REDIRECT: ExpiringTable(ASAP_REDIRECTS, "at", "ASAP_DEDUPE_HOURS"),
    CLOSED_CALL: ExpiringTable(ASAP_CALLS, "closed_at", "ASAP_DEDUPE_HOURS"),
}
"""The expiring tables by the kind of their timers."""


def expire_later(kind: str, key: str, ctx: DecisionContext) -> None:
    """Set the timer of a row one hour after its lifetime, as records may be dated earlier."""
    hours = ctx.work.settings[TTL_TABLES[kind].hours] + 1
    ctx.work.set_timer(Timer(ctx.at + hours * HOUR_MS, kind, key, {}))


def expire(timer: Timer, ctx: ProcessorContext) -> None:
    """Delete an expired row; one that was rewritten since has its own timer."""
    table, at, hours = TTL_TABLES[timer.kind]
    timer_context(timer, ctx)
    rows = ctx.rows(table)
    row = rows.get(timer.key)
    if row is None or row[at] is None:
        return
    if row[at] + ctx.settings[hours] * HOUR_MS < timer.due_ms:
        rows.delete(timer.key)
