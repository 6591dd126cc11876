"""`POST /v1/traces`: each check of the receiver, in both forms of the protocol."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from schemas import decode, to_json
from streams.doors.otlp.receiver import MAX_SPANS
from tests.unit.doors.otlp.requests import TRACE_ID, json_of, request_of
from tests.unit.gateway.bench import GatewayBench
from topology.topics import BY_NAME

PATH = "/v1/traces"
PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}
MODEL = {"gen_ai.operation.name": "chat", "gen_ai.completion.0.content": "So."}
SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[GatewayBench]:
    with GatewayBench(tmp_path) as bench:
        yield bench


def post(
    gateway: GatewayBench, body: bytes, headers: dict[str, str] = PROTOBUF, path: str = PATH
) -> Any:
    return gateway.ask("POST", path, content=body, headers=headers)


def send(gateway: GatewayBench, request: ExportTraceServiceRequest) -> ExportTraceServiceResponse:
    """Return the answer to a request in protocol buffers, which is taken."""
    answer = post(gateway, request.SerializeToString())
    assert answer.status_code == 200, answer.content
    assert answer.headers["content-type"] == PROTOBUF["content-type"]
    gateway.bench.host.run()
    response: ExportTraceServiceResponse = ExportTraceServiceResponse.FromString(answer.content)
    return response


def refused(answer: Any) -> tuple[int, str]:
    """Return the status of a refusal in protocol buffers, and its rule."""
    assert answer.headers["content-type"] == PROTOBUF["content-type"]
    return answer.status_code, Status.FromString(answer.content).message.partition(":")[0]


def spans(gateway: GatewayBench, trace_id: str = TRACE_ID) -> list[Any]:
    gateway.get("/v1/otel/traces", fresh="true")
    items: list[Any] = gateway.get(f"/v1/otel/traces/{trace_id}")["items"]
    return items


def values(gateway: GatewayBench, topic: str) -> list[Any]:
    """Return the records of a topic as JSON."""
    record = BY_NAME[topic].record or ""
    return [
        to_json(record, decode(each.value, record).value) for each in gateway.bench.records(topic)
    ]


def rejections(gateway: GatewayBench) -> list[Any]:
    items: list[Any] = gateway.get("/v1/otel/rejections", fresh="true")["items"]
    return items


def test_spans_of_a_request_are_recorded_in_either_form(gateway: GatewayBench) -> None:
    request = request_of({"attributes": MODEL}, {"name": "other"})
    assert send(gateway, request) == ExportTraceServiceResponse()
    answer = post(gateway, json_of(request), JSON)
    assert (answer.status_code, answer.json()) == (200, {})
    assert answer.headers["content-type"] == JSON["content-type"]
    gateway.bench.host.run()
    items = spans(gateway)
    assert [item["service_name"] for item in items] == ["weather-bot"] * 2
    assert {item["type"] for item in items} == {"model", "task"}
    facts = values(gateway, "otel.events")
    assert [fact["rule"] for fact in facts] == ["span_recorded"] * 2 + ["span_duplicate"] * 2


@pytest.mark.parametrize(
    ("encoding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress)]
)
def test_a_body_may_be_compressed(gateway: GatewayBench, encoding: str, compress: Any) -> None:
    body = request_of({}).SerializeToString()
    headers = {**PROTOBUF, "content-encoding": encoding}
    assert post(gateway, compress(body), headers).status_code == 200
    assert refused(post(gateway, body, headers)) == (400, "otlp_invalid")
    assert refused(post(gateway, compress(body)[:-6], headers)) == (400, "otlp_invalid")


def test_what_is_no_request_is_refused(gateway: GatewayBench) -> None:
    assert refused(post(gateway, b"\x0a\xff")) == (400, "otlp_invalid")
    assert post(gateway, b"", {"content-type": "text/plain"}).status_code == 415
    assert refused(post(gateway, b"", {**PROTOBUF, "content-encoding": "br"})) == (
        415,
        "content_encoding",
    )
    for body in (b"{", b"[]", b'{"resourceSpans": 7}'):
        answer = post(gateway, body, JSON)
        assert (answer.status_code, answer.json()["code"]) == (400, 3)
        assert answer.json()["message"].startswith("otlp_invalid: ")
        assert answer.json()["details"][0]["fieldViolations"][0]["field"] == "body"
    assert send(gateway, ExportTraceServiceRequest()) == ExportTraceServiceResponse()


def test_a_body_above_its_bound_is_refused(tmp_path: Path) -> None:
    with GatewayBench(tmp_path, gateway_max_body_bytes=2000) as gateway:
        large = request_of({"name": "x" * 2001}).SerializeToString()
        assert refused(post(gateway, large)) == (413, "too_large")
        headers = {**PROTOBUF, "content-encoding": "gzip"}
        assert refused(post(gateway, gzip.compress(large), headers)) == (413, "too_large")


def test_a_request_with_too_many_spans_is_refused(gateway: GatewayBench) -> None:
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for _ in range(MAX_SPANS + 1):
        scope.spans.add()
    assert refused(post(gateway, request.SerializeToString())) == (413, "too_many_spans")
    scopes: list[Any] = [{"spans": [{}] * (MAX_SPANS + 1)}]
    answer = post(gateway, json.dumps({"resourceSpans": [{"scopeSpans": scopes}]}).encode(), JSON)
    assert answer.json()["message"].startswith("too_many_spans: ")


def test_a_refused_span_does_not_hold_up_the_others(gateway: GatewayBench) -> None:
    request = request_of({}, {"start_time_unix_nano": 0}, {"span_id": b""}, {"trace_id": b"x"})
    partial = send(gateway, request).partial_success
    assert partial.rejected_spans == 3
    assert partial.error_message == (
        "3 of 4 spans refused: 0000000000000002 time_invalid; #2 span_id_invalid;"
        " #3 trace_id_invalid"
    )
    assert len(spans(gateway)) == 1
    assert {fact["rule"] for fact in rejections(gateway)} == {
        "time_invalid",
        "span_id_invalid",
        "trace_id_invalid",
    }


def test_spans_are_counted_by_outcome_and_rule(gateway: GatewayBench) -> None:
    send(gateway, request_of({}, {}, {"start_time_unix_nano": 0}))
    counted = gateway.ask("GET", "/metrics").text
    assert 'headrace_otlp_spans_total{outcome="sent",rule="none"} 2.0' in counted
    assert 'headrace_otlp_spans_total{outcome="refused",rule="time_invalid"} 1.0' in counted


def test_a_lone_surrogate_is_replaced_and_its_span_refused(gateway: GatewayBench) -> None:
    body = json_of(request_of({}, {"attributes": {"note": "REPLACED"}}))
    answer = post(gateway, body.replace(b"REPLACED", b"\\ud800"), JSON)
    assert answer.json()["partialSuccess"] == {
        "rejectedSpans": "1",
        "errorMessage": "1 of 2 spans refused: 0000000000000002 text_invalid",
    }
    gateway.bench.host.run()
    (fact,) = rejections(gateway)
    assert (fact["rule"], fact["span"]["attributes"]) == ("text_invalid", {"note": "\ufffd"})


def test_ids_in_json_are_digits_of_either_case(gateway: GatewayBench) -> None:
    body = json_of(request_of({}))
    upper = body.replace(TRACE_ID.encode(), TRACE_ID.upper().encode())
    assert post(gateway, upper, JSON).json() == {}
    answer = post(gateway, body.replace(TRACE_ID.encode(), b"no digits"), JSON)
    assert "trace_id_invalid" in answer.json()["partialSuccess"]["errorMessage"]
    gateway.bench.host.run()
    assert len(spans(gateway)) == 1


def test_our_own_export_is_not_taken_back(gateway: GatewayBench) -> None:
    partial = send(gateway, request_of({}, scope="headrace")).partial_success
    assert partial.error_message == "1 of 1 spans refused: 0000000000000001 own_span"
    assert values(gateway, "otel.spans") == []


def test_a_span_above_its_bound_is_counted_and_not_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with GatewayBench(tmp_path, otel_max_span_bytes=2000) as gateway:
        partial = send(gateway, request_of({"name": "x" * 2000}, {})).partial_success
        assert partial.error_message == "1 of 2 spans refused: 0000000000000001 span_too_large"
        assert len(values(gateway, "otel.spans")) == 1
    messages = [each.getMessage() for each in caplog.records if each.name.endswith("otlp.receiver")]
    assert len(messages) == 1
    assert messages[0].startswith("a span is refused, and is not on the log: ")


def test_secrets_are_masked_before_they_are_on_the_log(gateway: GatewayBench) -> None:
    send(gateway, request_of({"attributes": {"note": SECRET}}, {"span_id": b"", "name": "bad"}))
    assert SECRET not in json.dumps(values(gateway, "otel.spans"))
    assert spans(gateway)[0]["masked"] == 1


def test_a_span_without_a_session_has_that_of_its_request(gateway: GatewayBench) -> None:
    send(gateway, request_of({}, {"attributes": {"session.id": "sess-1"}}, {}))
    assert [item["session_id"] for item in spans(gateway)] == ["sess-1"] * 3


@pytest.mark.parametrize("path", ["/v1/metrics", "/v1/logs"])
def test_other_signals_are_refused_with_advice(gateway: GatewayBench, path: str) -> None:
    answer = post(gateway, b"", path=path)
    assert (answer.status_code, answer.json()["rule"]) == (404, "signal_unsupported")
    assert "OTEL_LOGS_EXPORTER=none" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("value", "recorded"),
    [
        (2**53 - 1, 2**53 - 1),
        (2**53, str(2**53)),
        (-(2**63), str(-(2**63))),
        (1.5, 1.5),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        (b"\x00\xff", "AP8="),
        ([1, "a", None, {"b": [True]}], [1, "a", None, {"b": [True]}]),
        (None, None),
    ],
)
def test_a_value_is_json(gateway: GatewayBench, value: Any, recorded: Any) -> None:
    request = request_of({"attributes": {"note": value}})
    send(gateway, request)
    assert post(gateway, json_of(request), JSON).json() == {}
    gateway.bench.host.run()
    assert spans(gateway)[0]["attributes"] == {"note": recorded}
    assert [fact["rule"] for fact in values(gateway, "otel.events")] == [
        "span_recorded",
        "span_duplicate",
    ]
