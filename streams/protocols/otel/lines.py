"""One line for each record of the topics of spans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.api.lines import Line, LineOf, duration, parts, short, verdict_line
from topology import otel as topics

Json = Mapping[str, Any]


def _duration(span: Json) -> str | None:
    start, end = span["start_time_unix_nano"], span["end_time_unix_nano"]
    if not (start.isdecimal() and end.isdecimal()):
        return None
    return duration(round((int(end) - int(start)) / 1_000_000, 1))


def _span(value: Json) -> Line:
    return Line(
        who=f"span {value['span_id']}",
        what=parts(f"trace {short(value['trace_id'])}", value.get("service_name")),
        text=value["name"],
        reason=parts(_duration(value), "failed" if value["status"] == "ERROR" else None),
    )


def _event(value: Json) -> Line:
    span, errors = value["span"], value["errors"]
    what = parts(f"trace {short(value['trace_id'])}", value["type"], value["agent"])
    if value["verdict"] == "accepted" and span is not None:
        reason = parts(span["name"], _duration(span), "failed" if value["failed"] else None)
    else:
        reason = errors[0]["message"] if errors else ""
    return verdict_line(
        f"span {value['span_id'] or '-'}", what, value["verdict"], value["rule"], reason
    )


LINES: Mapping[str, LineOf] = {
    topics.OTEL_SPANS.name: _span,
    topics.OTEL_EVENTS.name: _event,
}
