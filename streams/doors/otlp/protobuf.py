"""The messages of OTLP and of errors, the only module that imports their packages."""

from __future__ import annotations

from streams.errors import needs_extra

with needs_extra("otel", "OTLP"):
    from google.protobuf.json_format import MessageToJson, ParseDict, ParseError
    from google.protobuf.message import DecodeError, Message
    from google.rpc.error_details_pb2 import BadRequest
    from google.rpc.status_pb2 import Status
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTraceServiceRequest,
        ExportTraceServiceResponse,
    )
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
    from opentelemetry.proto.trace.v1.trace_pb2 import Span
    from opentelemetry.proto.trace.v1.trace_pb2 import Status as SpanStatus

__all__ = [
    "AnyValue",
    "BadRequest",
    "DecodeError",
    "ExportTraceServiceRequest",
    "ExportTraceServiceResponse",
    "KeyValue",
    "Message",
    "MessageToJson",
    "ParseDict",
    "ParseError",
    "Span",
    "SpanStatus",
    "Status",
]
