"""Exported spans in the messages of OTLP."""

from __future__ import annotations

from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from streams.doors.otlp.exporter.request import request_of
from tests.unit.doors.otlp.exporter.played import played
from tests.unit.gateway.bench import GatewayBench


def test_a_request_has_all_spans_with_resource_and_scope() -> None:
    exported = played("refusals")
    request = request_of(exported, {"service.name": "headrace"}, "1.2.3")
    (resource,) = request.resource_spans
    (scope,) = resource.scope_spans
    assert [(each.key, each.value.string_value) for each in resource.resource.attributes] == [
        ("service.name", "headrace")
    ]
    assert (scope.scope.name, scope.scope.version) == ("headrace", "1.2.3")
    assert [span.span_id.hex() for span in scope.spans] == [span.span_id for span in exported]
    assert [span.parent_span_id.hex() or None for span in scope.spans] == [
        span.parent_id for span in exported
    ]
    failed = [span for span in scope.spans if span.status.code == Status.STATUS_CODE_ERROR]
    assert failed
    assert len(failed) == sum(span.failed for span in exported)
    kinds = {span.kind for span in scope.spans}
    assert {Span.SPAN_KIND_PRODUCER, Span.SPAN_KIND_CONSUMER} <= kinds


def test_the_receiver_refuses_what_the_service_exported(tmp_path: Path) -> None:
    request = request_of(played("refusals")[:2], {}, "1.2.3")
    headers = {"content-type": "application/x-protobuf"}
    with GatewayBench(tmp_path) as gateway:
        body = request.SerializeToString()
        answer = gateway.ask("POST", "/v1/traces", content=body, headers=headers)
        response = ExportTraceServiceResponse.FromString(answer.content)
        assert response.partial_success.rejected_spans == 2
        assert "own_span" in response.partial_success.error_message
        assert gateway.bench.records("otel.spans") == []
