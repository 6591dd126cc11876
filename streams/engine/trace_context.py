"""Trace contexts of records, and the ids of the spans that are exported of them.

All are derived from the log alone.  Source: OTel guide, 9.2.
"""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from streams.engine.headers import trace_id

_SAMPLED = 1
_HEX = frozenset("0123456789abcdef")


class TraceContext(NamedTuple):
    """The trace of a record, its parent span if it names one, and W3C's flags.

    flags: None where the trace is derived, since no `traceparent` is there.
    """

    trace_id: str
    parent_id: str | None
    flags: int | None


def context_of(traceparent: bytes | None, position: str) -> TraceContext:
    """Return the trace context of a record.

    position: that of the command that began the trace; its id is derived from that if the record
    has no valid `traceparent`.
    """
    trace = trace_id(traceparent)
    if trace is None or traceparent is None:
        digest = sha256(f"headrace-trace:{position}".encode()).digest()
        return TraceContext(digest[:16].hex(), None, None)
    _, _, parent, flags = traceparent.decode("ascii", "replace").split("-")[:4]
    is_span = len(parent) == 16 and _HEX.issuperset(parent) and parent.strip("0") != ""
    is_number = len(flags) == 2 and _HEX.issuperset(flags)
    return TraceContext(
        trace, parent if is_span else None, int(flags, 16) if is_number else _SAMPLED
    )


def span_id(kind: str, name: str) -> str:
    """Derive the id of a span: 16 hexadecimal digits, not all of them 0."""
    digest = sha256(f"headrace-span:{kind}:{name}".encode()).digest()
    return (digest[:8] if any(digest[:8]) else digest[8:16]).hex()


def delivery_traceparent(traceparent: bytes | None, topic: str, id: str, cause: str) -> bytes:
    """Return the trace context of an inbox record, in which the delivery is the parent.

    So what an agent sends under it is below the span of the delivery.  traceparent: that of the
    cause.  topic: the full name of the inbox topic.  id: the record's `ce_id`.
    """
    context = context_of(traceparent, cause)
    flags = _SAMPLED if context.flags is None else context.flags
    return f"00-{context.trace_id}-{span_id(topic, id)}-{flags:02x}".encode()
