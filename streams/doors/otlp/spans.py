"""Spans of a request as values of `otel.spans`."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from streams.doors.otlp.json_request import SpanAt
from streams.doors.otlp.protobuf import AnyValue, ExportTraceServiceRequest, KeyValue, Span

Json = dict[str, Any]
OWN_SCOPE = "headrace"
"""The instrumentation scope of the spans that the service itself exports."""
_MAX_SAFE_INTEGER = 2**53 - 1
_KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_STATUSES = ("UNSET", "OK", "ERROR")


class SentSpan(NamedTuple):
    """A span of a request, in the JSON form of OtelSpan, not masked yet.

    is_own: it is one that the service has exported.
    """

    value: Json
    is_own: bool


def spans_of(
    request: ExportTraceServiceRequest, replaced: Collection[SpanAt] = ()
) -> Iterator[SentSpan]:
    """Yield the spans of a request, in its order.

    replaced: the places of those whose texts had lone surrogates.
    """
    for r, resource_spans in enumerate(request.resource_spans):
        resource = attributes_of(resource_spans.resource.attributes)
        service = resource.get("service.name")
        for s, scope_spans in enumerate(resource_spans.scope_spans):
            scope = scope_spans.scope
            shared = {
                "service_name": service if isinstance(service, str) else None,
                "scope_name": scope.name or None,
                "scope_version": scope.version or None,
                "schema_url": scope_spans.schema_url or resource_spans.schema_url or None,
            }
            for n, span in enumerate(scope_spans.spans):
                value = {**_span(span), **shared, "resource": resource}
                if (r, s, n) in replaced:
                    value["refused"] = "text_invalid"
                yield SentSpan(value, scope.name == OWN_SCOPE)


def _span(span: Span) -> Json:
    return {
        "trace_id": span.trace_id.hex(),
        "span_id": span.span_id.hex(),
        "parent_span_id": span.parent_span_id.hex() or None,
        "name": span.name,
        "kind": _KINDS[span.kind] if span.kind < len(_KINDS) else _KINDS[0],
        "start_time_unix_nano": str(span.start_time_unix_nano),
        "end_time_unix_nano": str(span.end_time_unix_nano),
        "status": _status(span.status.code),
        "status_message": span.status.message or None,
        "trace_state": span.trace_state or None,
        "flags": span.flags,
        "attributes": attributes_of(span.attributes),
        "events": [
            {
                "name": event.name,
                "time_unix_nano": str(event.time_unix_nano),
                "attributes": attributes_of(event.attributes),
                "dropped": event.dropped_attributes_count,
            }
            for event in span.events
        ],
        "links": [
            {
                "trace_id": link.trace_id.hex(),
                "span_id": link.span_id.hex(),
                "trace_state": link.trace_state,
                "flags": link.flags,
                "attributes": attributes_of(link.attributes),
                "dropped": link.dropped_attributes_count,
            }
            for link in span.links
        ],
        "dropped": {
            "attributes": span.dropped_attributes_count,
            "events": span.dropped_events_count,
            "links": span.dropped_links_count,
        },
    }


def _status(code: int) -> str:
    return _STATUSES[code] if code < len(_STATUSES) else _STATUSES[0]


def attributes_of(attributes: Iterable[KeyValue]) -> Json:
    """Return attributes as a JSON object; of a repeated key the last one."""
    return {attribute.key: value_of(attribute.value) for attribute in attributes}


def value_of(value: AnyValue) -> Any:
    """Return a value as JSON: what JSON has no number for is text, bytes are base64."""
    kind = value.WhichOneof("value")
    match kind:
        case "string_value" | "bool_value":
            return getattr(value, kind)
        case "int_value":
            number = value.int_value
            return number if abs(number) <= _MAX_SAFE_INTEGER else str(number)
        case "double_value":
            return _double(value.double_value)
        case "array_value":
            return [value_of(item) for item in value.array_value.values]
        case "kvlist_value":
            return attributes_of(value.kvlist_value.values)
        case "bytes_value":
            return b64encode(value.bytes_value).decode()
    return None


def _double(number: float) -> float | str:
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
