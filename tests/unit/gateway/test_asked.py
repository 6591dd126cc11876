"""By what a request is known: its id, and its trace context on the records that it makes."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from streams.engine.records import header, position
from tests.unit.asap.support import envelope_json
from tests.unit.envelopes import idea, transition
from tests.unit.gateway.bench import GatewayBench
from tests.unit.protocols.saop.processor.support import envelope as turn
from tests.unit.protocols.sap.queries.stage import result, signal, task
from tests.unit.protocols.summit.queries.stage import invoke, manifest
from tests.unit.protocols.summit.queries.stage import result as reply

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
SENDS: dict[str, tuple[str, Any]] = {
    "apc.packets": ("/v1/apc/packets", idea()),
    "rtes.raw": ("/v1/rtes/events", transition()),
    "saop.turns": ("/v1/saop/turns", turn()),
    "saop.rewinds": ("/v1/saop/sessions/s1/rewind", {"task_id": "t1"}),
    "saop.controls": ("/v1/saop/sessions/s1/tasks/t1/pause", {}),
    "sap.tasks": ("/v1/sap/tasks", task()),
    "sap.results": ("/v1/sap/results", result(task())),
    "sap.signals": ("/v1/sap/signals", signal(task(), rating=4)),
    "asap.envelopes": ("/v1/asap/envelopes", envelope_json()),
    "summit.manifests": ("/v1/summit/manifests", manifest()),
    "summit.calls": ("/v1/summit/calls", invoke()),
    "summit.replies": ("/v1/summit/replies", reply()),
}


@pytest.mark.parametrize("topic", SENDS)
def test_records_carry_the_trace_context_of_their_request(
    gateway: GatewayBench, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    object.__setattr__(gateway.settings, "gateway_wait_s", 0)  # nobody decides here
    path, body = SENDS[topic]
    with caplog.at_level("INFO", "streams.gateway.access"):
        answer = gateway.ask("POST", path, json=body, headers={"traceparent": TRACE})
    (record,) = gateway.bench.records(topic)
    assert header(record, "traceparent") == TRACE.encode()
    (line,) = [json.loads(record.message) for record in caplog.records]
    assert (line["traceparent"], line["positions"]) == (TRACE, [position(record)])
    parts = [line[name] for name in ("trace_id", "span_id", "trace_flags")]
    assert parts == TRACE.split("-")[1:]
    assert line["request_id"] == answer.headers["x-request-id"]


def test_so_does_that_of_a_call_by_json_rpc(gateway: GatewayBench) -> None:
    headers = {"traceparent": TRACE, "prefer": "wait=0"}
    gateway.ask("POST", "/summit", json=invoke(), headers=headers)
    (record,) = gateway.bench.records("summit.calls")
    assert header(record, "traceparent") == TRACE.encode()


@pytest.mark.parametrize("request_id", ["req-1", "01J9:a/b+c=", "x" * 128])
def test_the_clients_own_id_is_kept(gateway: GatewayBench, request_id: str) -> None:
    answer = gateway.ask("GET", "/healthz", headers={"x-request-id": request_id})
    assert answer.headers.get_list("x-request-id") == [request_id]


@pytest.mark.parametrize(
    "request_id", ["", "a b", "x" * 129, "-", "AKIAIOSFODNN7EXAMPLE", "a\\nb"], ids=repr
)
def test_what_is_no_id_is_replaced(gateway: GatewayBench, request_id: str) -> None:
    answer = gateway.ask("GET", "/nowhere", headers={"x-request-id": request_id})
    assert uuid.UUID(answer.headers["x-request-id"]).version == 4


def test_what_is_no_trace_context_is_neither_kept_nor_logged(
    gateway: GatewayBench, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "streams.gateway.access"):
        gateway.ask("POST", "/v1/apc/packets", json=idea(), headers={"traceparent": "hidden-word"})
    (record,) = gateway.bench.records("apc.packets")
    assert header(record, "traceparent") is None
    assert "hidden-word" not in caplog.text
