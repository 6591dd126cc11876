"""The queries of traces, their spans, and refused spans (OTel guide, 6)."""

from __future__ import annotations

import orjson

from streams.errors import NotFound
from streams.protocols.otel.span_events import time_text, times_of
from streams.views.keys import key
from streams.views.pages import page_of, rows_by_index, rows_of, rows_reversed
from streams.views.parse import QueryParams
from streams.views.query_params import CURSOR, SESSION_ID, Parameter, limit
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, filters_of, json_of, matches
from topology.otel import OTEL_EVENTS

TRACE_UNKNOWN = "trace_unknown"
PAGED = (limit(100, 1000), CURSOR)
_FILTERS = ("session_id", "service_name")
TRACES_PARAMS = (
    SESSION_ID,
    Parameter("service_name", "of this program", example="weather-bot"),
    *PAGED,
)
REJECTION_PARAMS = (
    Parameter("trace_id", "of this trace", example="4bf92f3577b34da6a3ce929d0e0e4736"),
    *PAGED,
)
_MAX_READ = 10_000
"""Most traces that one page reads when it filters."""
_OF_FACT = (
    *("span_id", "type", "dialect", "session_id", "agent", "tool", "model", "provider"),
    *("input_tokens", "output_tokens", "failed"),
)


def trace(view: ReadOnlyStore, trace_id: str, params: QueryParams) -> Json:
    """List the accepted spans of a trace by start, then id.  Raises NotFound."""
    if view.get("otel trace", trace_id) is None:
        raise NotFound(f"there is no trace {trace_id}", TRACE_UNKNOWN)
    prefix = key("otel span", trace_id)
    return page_of(params, prefix, rows_of(view, prefix, _span))


def span_row(view: ReadOnlyStore, trace_id: str, span_id: str) -> bytes | None:
    """Return the OtelEvent of an accepted span, as on its topic."""
    row_key = view.get("otel span at", trace_id, span_id)
    return None if row_key is None else view.get_many([row_key])[0]


def _span(row: bytes) -> Json:
    """Return a span as people read it.  row: the OtelEvent of an accepted one."""
    fact = json_of(OTEL_EVENTS, row)
    sent = fact["span"]
    start, end = times_of(sent)
    return {
        "parent_span_id": sent.get("parent_span_id"),
        "name": sent["name"],
        "kind": sent["kind"].lower(),
        **{name: fact[name] for name in _OF_FACT},
        "started_at": time_text(start),
        "ended_at": time_text(end),
        "duration_ms": (end - start) / 1_000_000,
        "status": sent["status"].lower(),
        "service_name": sent.get("service_name"),
        "attributes": sent["attributes"],
        "events": sent["events"],
        "links": sent["links"],
        "masked": sent["masked"],
        "position": fact["cause"],
    }


def traces(view: ReadOnlyStore, params: QueryParams) -> Json:
    """List traces, the newest first, by when their first spans came."""
    members = filters_of(params, _FILTERS)

    def item(row: bytes) -> Json | None:
        value = orjson.loads(row)
        return _summary(value) if matches(value, members) else None

    prefix = key("otel trace at")
    index = rows_reversed(view, prefix, bytes)
    return page_of(params, prefix, rows_by_index(view, index, item), _MAX_READ)


def _summary(row: Json) -> Json:
    return {
        "trace_id": row["trace_id"],
        "session_id": row["session_id"],
        "name": row["name"],
        "service_name": row["service_name"],
        "started_at": time_text(row["started"]),
        "ended_at": time_text(row["ended"]),
        **{
            name: row[name]
            for name in ("span_count", "failed_count", "input_tokens", "output_tokens")
        },
    }


def rejections(view: ReadOnlyStore, params: QueryParams) -> Json:
    """List rejected spans, the newest first."""
    trace_id = params.text("trace_id")
    if trace_id is None:
        prefix = key("otel rejection")
        return page_of(params, prefix, rows_reversed(view, prefix, _rejection))
    prefix = key("otel rejection of", trace_id)
    index = rows_reversed(view, prefix, bytes)
    return page_of(params, prefix, rows_by_index(view, index, _rejection))


def _rejection(row: bytes) -> Json:
    return json_of(OTEL_EVENTS, row)
