"""The part of the OpenAPI document for OTLP, its access rules and its codes."""

from __future__ import annotations

from streams.access.callers import OPEN, AccessRule, Role
from streams.api.description import DescribeParameter, Description
from streams.api.media import JSON_TYPE
from streams.api.openapi import Json, problem_responses
from streams.api.problems import Code

TRACES, METRICS, LOGS = "/v1/traces", "/v1/metrics", "/v1/logs"
PROTOBUF_TYPE = "application/x-protobuf"
_TAG = "otlp"
_BINARY: Json = {"schema": {"type": "string", "format": "binary"}}
_OBJECT: Json = {"schema": {"type": "object"}}


def _paths(describe: DescribeParameter) -> Json:
    return {
        TRACES: {"post": _traces()},
        METRICS: {"post": _unsupported("metrics")},
        LOGS: {"post": _unsupported("logs")},
    }


def _traces() -> Json:
    example = {**_OBJECT, "example": {"resourceSpans": []}}
    return {
        "operationId": "post_traces",
        "summary": "Spans of OpenTelemetry (OTLP), answered once Kafka has them all",
        "tags": [_TAG],
        "requestBody": {
            "required": True,
            "content": {PROTOBUF_TYPE: _BINARY, JSON_TYPE: example},
        },
        "responses": {
            "200": {
                "description": "An ExportTraceServiceResponse in the type of the request.",
                "content": {PROTOBUF_TYPE: _BINARY, JSON_TYPE: _OBJECT},
            },
            **{
                str(status): {
                    "description": "A google.rpc.Status in the type of the request.",
                    "content": {PROTOBUF_TYPE: _BINARY, JSON_TYPE: _OBJECT},
                }
                for status in (400, 401, 403, 413, 415, 503)
            },
            **problem_responses(429, 501),
        },
    }


def _unsupported(signal: str) -> Json:
    return {
        "operationId": f"post_{signal}",
        "summary": f"OpenTelemetry's {signal} are not taken",
        "tags": [_TAG],
        "responses": problem_responses(404),
    }


DESCRIPTION = Description(
    tags={_TAG: "OpenTelemetry: programs send spans."},
    paths=_paths,
    needs={
        ("POST", TRACES): AccessRule((Role.PRODUCER,), checked_by_endpoint=True),
        ("POST", METRICS): OPEN,
        ("POST", LOGS): OPEN,
    },
    http_rules=(
        Code("otlp_invalid", 400, "The body is no trace request of OTLP."),
        Code("signal_unsupported", 404, "The service takes traces, and no metrics and no logs."),
        Code("too_many_spans", 413, "A request of OTLP has too many spans."),
        Code("content_encoding", 415, "The content encoding is not one that OTLP has."),
        Code("extra_missing", 501, "The packages of an extra of headrace are not installed."),
    ),
)
