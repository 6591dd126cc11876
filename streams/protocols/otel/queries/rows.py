"""The rows of spans in a view.

| key | row |
|---|---|
| otel span, trace, start (ns), span id | OtelEvent of an accepted span, as on its topic |
| otel span at, trace, span id | the key of that row |
| otel trace, trace | what the trace comes to, as JSON |
| otel trace at, position of its first span | the key of that row |
| otel rejection, position | OtelEvent of a rejected span, as on its topic |
| otel rejection of, trace, position | the key of that row |

A position is (time, partition, offset).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from schemas.projection import Projection
from streams.engine.records import Record
from streams.views.changes import WriteBatch
from streams.views.decoded import decode_members
from streams.views.keys import key
from streams.views.projection import Apply
from topology.declarations import Topic
from topology.otel import OTEL_EVENTS, OTEL_SPANS_DLQ

_FACT = Projection(
    OTEL_EVENTS.record or "",
    (
        *("verdict", "rule", "fault", "trace_id", "span_id", "session_id", "agent"),
        *("input_tokens", "output_tokens", "failed", "errors", "at"),
        *("span/name", "span/parent_span_id", "span/service_name"),
        *("span/start_time_unix_nano", "span/end_time_unix_nano"),
    ),
)
_NEW: Mapping[str, Any] = {
    "session_id": None,
    "name": None,
    "service_name": None,
    "started": None,
    "ended": None,
    "span_count": 0,
    "failed_count": 0,
    "input_tokens": 0,
    "output_tokens": 0,
}


def _events(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    decoded = decode_members(topic, records, _FACT)
    if records:
        rows.shared[records[0].topic] = decoded
    for record, fact in decoded:
        if fact["verdict"] == "accepted":
            _put_span(record, fact, rows)
        elif fact["verdict"] == "rejected":
            row_key = key("otel rejection", *_position(record, fact))
            rows[row_key] = record.value
            rows[key("otel rejection of", fact["trace_id"], *_position(record, fact))] = row_key


def _position(record: Record, fact: Mapping[str, Any]) -> tuple[int, int, int]:
    return fact["at"], record.partition, record.offset


def _put_span(record: Record, fact: Mapping[str, Any], rows: WriteBatch) -> None:
    trace_id, span_id, span = fact["trace_id"], fact["span_id"], fact["span"]
    row_key = key("otel span", trace_id, int(span["start_time_unix_nano"]), span_id)
    at_key = key("otel span at", trace_id, span_id)
    earlier = rows.read(at_key)
    if earlier is not None:  # the service had forgotten it, and it was sent again
        rows[earlier] = None
    rows[row_key] = record.value
    rows[at_key] = row_key
    if earlier is None:
        _count_span(record, fact, rows)


def _count_span(record: Record, fact: Mapping[str, Any], rows: WriteBatch) -> None:
    """Add a span to what its trace comes to."""
    row_key = key("otel trace", fact["trace_id"])
    stored = rows.read(row_key)
    if stored is None:
        rows[key("otel trace at", *_position(record, fact))] = row_key
    trace = dict(_NEW) if stored is None else orjson.loads(stored)
    span = fact["span"]
    start, end = int(span["start_time_unix_nano"]), int(span["end_time_unix_nano"])
    is_root = span["parent_span_id"] is None
    trace |= {
        "trace_id": fact["trace_id"],
        "session_id": fact["session_id"],
        "name": span["name"] if is_root and trace["name"] is None else trace["name"],
        "service_name": (is_root and span["service_name"])
        or trace["service_name"]
        or span["service_name"],
        "started": start if trace["started"] is None else min(start, trace["started"]),
        "ended": end if trace["ended"] is None else max(end, trace["ended"]),
        "span_count": trace["span_count"] + 1,
        "failed_count": trace["failed_count"] + bool(fact["failed"]),
        "input_tokens": trace["input_tokens"] + (fact["input_tokens"] or 0),
        "output_tokens": trace["output_tokens"] + (fact["output_tokens"] or 0),
    }
    rows[row_key] = orjson.dumps(trace)


FOLLOWED: Mapping[str, Apply | None] = {
    OTEL_EVENTS.name: _events,
    OTEL_SPANS_DLQ.name: None,
}
"""As in `streams.view_store.rows`."""
