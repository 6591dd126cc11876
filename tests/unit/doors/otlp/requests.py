"""Requests of OTLP in both of their forms."""

from __future__ import annotations

import json
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

TRACE_ID, SPAN_ID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
START_NS = 1_790_000_000_000_000_000
_IDS = ("traceId", "spanId", "parentSpanId")


def any_value(value: Any) -> AnyValue:
    """Return a value as OTLP has it."""
    match value:
        case None:
            return AnyValue()
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case str():
            return AnyValue(string_value=value)
        case bytes():
            return AnyValue(bytes_value=value)
        case list():
            whole = AnyValue()
            whole.array_value.values.extend(any_value(item) for item in value)
            return whole
        case dict():
            whole = AnyValue()
            whole.kvlist_value.values.extend(key_values(value))
            return whole
    raise TypeError(type(value))


def key_values(attributes: dict[str, Any]) -> list[KeyValue]:
    return [KeyValue(key=key, value=any_value(value)) for key, value in attributes.items()]


def request_of(
    *spans: dict[str, Any], service: str | None = "weather-bot", scope: str = "a scope"
) -> ExportTraceServiceRequest:
    """Return a request with one resource.  spans: members that differ, `attributes` as a dict."""
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    if service is not None:
        resource.resource.attributes.extend(key_values({"service.name": service}))
    scope_spans = resource.scope_spans.add()
    scope_spans.scope.name = scope
    for number, members in enumerate(spans, 1):
        members = {
            "trace_id": bytes.fromhex(TRACE_ID),
            "span_id": number.to_bytes(8, "big"),
            "name": "work",
            "start_time_unix_nano": START_NS,
            "end_time_unix_nano": START_NS + 1_500_000,
            **members,
        }
        attributes = key_values(members.pop("attributes", {}))
        scope_spans.spans.add(**members, attributes=attributes)
    return request


def json_of(request: ExportTraceServiceRequest) -> bytes:
    """Return a request in OTLP's JSON, whose ids are hexadecimal digits."""
    value = MessageToDict(request, use_integers_for_enums=True)
    for resource in value.get("resourceSpans", ()):
        for scope in resource.get("scopeSpans", ()):
            for span in scope.get("spans", ()):
                _write_ids(span)
                for link in span.get("links", ()):
                    _write_ids(link)
    return json.dumps(value).encode()


def _write_ids(owner: dict[str, Any]) -> None:
    from base64 import b64decode

    for name in _IDS:
        if name in owner:
            owner[name] = b64decode(owner[name]).hex()
