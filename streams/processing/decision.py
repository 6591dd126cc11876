"""The context of one decision: its cause, its time, and the records that it sends."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from streams.engine.headers import iso
from streams.engine.processor import AvroValue, ProcessorContext, Timer
from streams.engine.records import Headers
from streams.processing.graph import LineageEdge
from topology.core import BEGAN, LINEAGE_EDGES, RTES_RAW
from topology.declarations import Topic

_TRACEPARENT_BYTES = 128
"""Maximum length; W3C's has 55 bytes.  A longer one is not stored with a timer."""


class Decision:
    """The context of one decision.

    cause: the position of the record, or the name of the timer, that is handled.
    at: ms; the timestamp of the record, or the due time of the timer.
    """

    __slots__ = ("at", "cause", "traceparent", "work")

    def __init__(
        self, ctx: ProcessorContext, cause: str, at: int, traceparent: bytes | None = None
    ) -> None:
        ctx.cause = cause
        self.work = ctx
        self.cause = cause
        self.at = at
        self.traceparent = traceparent

    def resume(self) -> None:
        """Set the cause of row writes again, after another decision of the same step."""
        self.work.cause = self.cause

    def send(
        self, topic: Topic, key: str, value: AvroValue, id: str, headers: Headers = ()
    ) -> None:
        self.work.send(
            topic,
            key,
            value,
            id=id,
            at=self.at,
            cause=self.cause,
            traceparent=self.traceparent,
            headers=headers,
        )

    def emit_edge(self, *edges: LineageEdge) -> None:
        """Send edges of the lineage graph."""
        for edge in edges:
            emit_edge(edge, self.at, self.cause, self.work, self.traceparent)

    def emit_rtes_event(
        self, origin: str, event_id: str, session_id: str, record: str, payload: Mapping[str, Any]
    ) -> None:
        """Send an event to RTES.

        origin: the protocol.  record: the payload's record, such as `headrace.rtes.TaskTransition`.
        """
        event = {
            "event_id": event_id,
            "session_id": session_id,
            "payload": (record, dict(payload)),
            "origin": origin,
        }
        self.send(RTES_RAW, session_id, event, event_id)

    def set_timer(self, due_ms: int, kind: str, key: str) -> None:
        """Set a timer that passes the trace context on to the records that it causes."""
        self.work.set_timer(Timer(due_ms, kind, key, timer_data(self.traceparent)))


def began_header(began_ms: int) -> tuple[str, bytes]:
    """Return the header of a fact that ends what began at this time."""
    return BEGAN.name, iso(began_ms)


def timer_data(parent: bytes | None) -> dict[str, str]:
    """Return the data that a timer stores so that what it causes belongs to the same trace."""
    if parent is None or len(parent) > _TRACEPARENT_BYTES:
        return {}
    return {"traceparent": parent.decode("latin-1")}


def traceparent_of(timer: Timer) -> bytes | None:
    """Return the trace context in its `timer_data`, which an earlier version may have written."""
    parent = timer.data.get("traceparent")
    return None if parent is None else parent.encode("latin-1", "replace")


def emit_edge(
    edge: LineageEdge | tuple[str, str, str],
    at: int,
    cause: str,
    ctx: ProcessorContext,
    traceparent: bytes | None = None,
) -> None:
    """Send one edge; sent again it is the same.  at: ms.  cause: of the decision that emits it."""
    source, relation, target = edge
    edge_id = sha256("|".join(edge).encode()).hexdigest()
    value = {
        "edge_id": edge_id,
        "from_node": source,
        "relation": relation,
        "to_node": target,
        "at": at,
        "cause": cause,
    }
    ctx.send(LINEAGE_EDGES, edge_id, value, id=edge_id, at=at, cause=cause, traceparent=traceparent)
