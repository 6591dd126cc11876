"""OTLP in scenarios: each request is a line, answered as the gateway answers it."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from streams.doors.playing import SERVERS
from streams.play.scenario import open_scenario
from streams.settings import Settings
from tests.unit.doors.otlp.requests import TRACE_ID, json_of, request_of

Json = dict[str, Any]
TOOL = {"openinference.span.kind": "TOOL", "session.id": "sess-1"}


def ask(*lines: Json) -> list[list[Json]]:
    """Return the output of each line."""
    with open_scenario(Settings(partitions=1), servers=SERVERS) as scenario:
        return [scenario.line(n, json.dumps(line)) for n, line in enumerate(lines, 1)]


def post(path: str, body: Any, **headers: str) -> Json:
    return {"query": f"POST {path}", "body": body, "headers": headers}


def test_spans_of_a_line_get_their_verdicts_and_are_events() -> None:
    request = request_of({"attributes": TOOL}, {"span_id": bytes(8)})
    posted, trace = ask(
        post("/v1/traces", json.loads(json_of(request))),
        {"query": f"GET /v1/otel/traces/{TRACE_ID}"},
    )
    answer, *records = posted
    refusal = "1 of 2 spans refused: #1 span_id_invalid"
    assert (answer["status"], answer["body"]) == (
        200,
        {"partialSuccess": {"rejectedSpans": "1", "errorMessage": refusal}},
    )
    verdicts = [each["value"]["rule"] for each in records if each["topic"] == "otel.events"]
    assert verdicts == ["span_recorded", "span_id_invalid"]
    events = [each["value"] for each in records if each["topic"] == "rtes.events"]
    assert [(each["session_id"], each["origin"]) for each in events] == [("sess-1", "otel")] * 2
    (item,) = trace[0]["body"]["items"]
    assert (item["type"], item["session_id"]) == ("tool", "sess-1")


@pytest.mark.parametrize(
    ("path", "body", "headers", "status", "rule"),
    [
        ("/v1/traces", [], {}, 400, "otlp_invalid"),
        ("/v1/traces", {}, {"Content-Type": "text/plain"}, 415, "media_type"),
        ("/v1/metrics", {}, {}, 404, "signal_unsupported"),
    ],
)
def test_a_request_that_is_refused_is_answered_as_by_a_gateway(
    path: str, body: Any, headers: dict[str, str], status: int, rule: str
) -> None:
    ((answer,),) = ask(post(path, body, **headers))
    assert answer["status"] == status
    assert rule in json.dumps(answer["body"])


def test_without_the_extra_the_line_is_answered_501(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("answers", "json_request", "protobuf", "receiver", "spans"):
        monkeypatch.delitem(sys.modules, f"streams.doors.otlp.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "google.rpc.status_pb2", None)
    ((answer,),) = ask(post("/v1/traces", {"resourceSpans": []}))
    assert (answer["status"], answer["body"]["rule"]) == (501, "extra_missing")
