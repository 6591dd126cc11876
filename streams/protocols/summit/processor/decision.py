"""The context of all decisions of Summit: ids, output records, and nodes of the lineage graph.

Source: Summit guide, 1 and 5.2 to 5.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas import uuid5_url
from streams.engine.headers import iso
from streams.engine.processor import AvroValue, Message, ProcessorContext, Timer
from streams.engine.records import header, position
from streams.processing.decision import Decision, traceparent_of
from topology.keys import composite


class DecisionContext(Decision):
    """The context of one decision.

    cause: the position of the deciding record; for a timer, that of the call.  at: ms; the record's
    timestamp, for a timer the due time.  event_id: that of the decision's one fact.
    """

    __slots__ = ("_event_count", "event_id")

    def __init__(
        self, ctx: ProcessorContext, cause: str, at: int, traceparent: bytes | None, event_id: str
    ) -> None:
        super().__init__(ctx, cause, at, traceparent)
        self.event_id = event_id
        self._event_count = 0

    @property
    def time(self) -> str:
        """Return the time of the decision, ISO 8601 in UTC with milliseconds."""
        return iso(self.at).decode()

    def setting(self, name: str) -> Any:
        return self.work.settings[f"SUMMIT_{name}"]

    def emit_event(self, session_id: str, record: str, payload: Mapping[str, Any]) -> None:
        """Send an event to RTES.

        record: the type of the payload, which gets its timestamp here.
        """
        event_id = uuid5_url(f"headrace:summit:{self.event_id}:{self._event_count}")
        self._event_count += 1
        dated = {**payload, "timestamp": self.time}
        self.emit_rtes_event("summit", event_id, session_id, record, dated)


def record_context(message: Message, ctx: ProcessorContext) -> DecisionContext:
    record = message.record
    cause = position(record)
    parent = header(record, "traceparent")
    return DecisionContext(ctx, cause, record.timestamp, parent, f"{cause}/0")


def timer_context(timer: Timer, row: AvroValue, ctx: ProcessorContext) -> DecisionContext:
    """Return the context of the decision of a run's timer, dated at its due time.

    row: SummitRun.
    """
    cause = row["evidence"]["callPosition"]
    return DecisionContext(ctx, cause, row["dueAt"], traceparent_of(timer), timeout_id(row))


def overdue_context(ctx: DecisionContext, row: AvroValue) -> DecisionContext:
    """Return the context of a timeout that a record triggers because it came after the due time."""
    return DecisionContext(ctx.work, ctx.cause, ctx.at, ctx.traceparent, timeout_id(row))


def timeout_id(row: AvroValue) -> str:
    return f"{row['evidence']['callPosition']}/timeout"


def run_node(run_id: str) -> str:
    return "summit:run:" + composite(run_id)


def manifest_node(agent_id: str, version: str) -> str:
    return "summit:manifest:" + composite(agent_id, version)


def reply_node(run_id: str, reply_id: str) -> str:
    return "summit:reply:" + composite(run_id, reply_id)


def call_node(position: str) -> str:
    """Return the lineage node of a call.

    position: that of the record, not escaped.
    """
    return "summit:call:" + position


def trace_node(trace_id: str) -> str:
    return "trace:" + composite(trace_id)
