"""MCP calls: opened once, answered once or not at all (ASAP guide, 5.5)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.protocols.asap.processor.requests import manifest, with_manifests
from tests.unit.protocols.asap.processor.support import (
    INDEXER,
    PLANNER,
    START_MS,
    STRANGER,
    Bench,
)
from topology.asap import ASAP_CALLS
from topology.core import RTES_RAW

Json = dict[str, Any]
PARTIES: Json = {"sender": PLANNER, "recipient": INDEXER}
HOUR_MS = 3_600_000
WEEK_MS = 168 * HOUR_MS


def call(bench: Bench, id: str = "C", **more: Any) -> Json:
    payload = {"request_id": "R", "arguments": {"b": 1, "a": [2.0]}}
    return bench.send_envelope("McpToolCall", payload, id=id, **PARTIES, **more)


def result(bench: Bench, payload: Json | None = None, **more: Any) -> Json:
    """The callee's answer, unless more says otherwise."""
    answer = {"request_id": "R", **(payload or {})}
    return bench.send_envelope("McpToolResult", answer, **{"correlation_id": "C", **more})


def fetch(bench: Bench, id: str = "F", **more: Any) -> Json:
    return bench.send_envelope("McpResourceFetch", id=id, **PARTIES, **more)


def data(bench: Bench, payload: Json | None = None, **more: Any) -> Json:
    return bench.send_envelope("McpResourceData", payload, **{"correlation_id": "F", **more})


def rtes_payloads(bench: Bench) -> list[tuple[str, Json]]:
    """What RTES heard: session and payload."""
    events = [one.value for one in bench.of(RTES_RAW)]
    return [(event["session_id"], event["payload"][1]) for event in events]


def test_a_call_and_its_answer() -> None:
    bench = Bench()
    opened = call(bench, trace_id="tr", correlation_id="T")
    assert (opened["rule"], opened["call_key"], opened["task_id"]) == ("call_opened", "R", None)
    assert opened["figures"] == {"recipient_known": False, "manifests": 0, "timeout_ms": 600_000}
    fact = result(bench, at=START_MS + 1_500, id="A")
    assert (fact["rule"], fact["call_key"]) == ("call_answered", "R")
    assert [e["id"] for e in bench.inbox(INDEXER)] == ["C"]
    assert [e["id"] for e in bench.inbox(PLANNER)] == ["A"]
    assert set(bench.edges()) == {
        ("asap:call:R", "same_trace", "trace:tr"),
        ("asap:call:R", "part_of", "asap:task:T"),
        ("asap:envelope:A", "answers", "asap:envelope:C"),
    }
    common = {"call_id": "R", "tool": "search"}
    began, ended = "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01.500Z"
    assert rtes_payloads(bench) == [
        ("tr", {**common, "arguments_json": '{"a":[2],"b":1}', "timestamp": began}),
        ("tr", {**common, "status": "success", "duration_ms": 1500.0, "timestamp": ended}),
    ]
    assert not [timer for timer in bench.timers if timer[1] == "call"]


def test_a_call_took_no_less_than_no_time() -> None:
    bench = Bench()
    call(bench, at=START_MS + 900)
    assert result(bench, at=START_MS + 400)["rule"] == "call_answered"
    _, completed = rtes_payloads(bench)[-1]
    assert (completed["status"], completed["duration_ms"]) == ("success", 0.0)


def test_a_call_without_a_trace_is_a_session_of_its_own() -> None:
    bench = Bench()
    call(bench)
    result(bench, {"success": False, "result": None, "error": "no"})
    assert [session for session, _ in rtes_payloads(bench)] == ["R", "R"]
    assert rtes_payloads(bench)[1][1]["status"] == "failure"
    assert ("asap:envelope:id-2", "answers", "asap:envelope:C") in bench.edges()


def test_a_resource_is_fetched_without_a_word_to_rtes() -> None:
    bench = Bench()
    assert fetch(bench)["call_key"] == "F"
    assert data(bench)["rule"] == "call_answered"
    assert rtes_payloads(bench) == []
    assert len(bench.inbox(PLANNER)) == 1


REFUSED: dict[str, Json] = {
    "not_participant": {"sender": STRANGER},
    "wrong_recipient": {"recipient": STRANGER},
    "correlation_mismatch": {"correlation_id": "other"},
    "call_not_found": {"payload": {"request_id": "other"}},
}


@pytest.mark.parametrize("rule", REFUSED)
def test_an_answer_that_is_refused(rule: str) -> None:
    bench = Bench()
    call(bench)
    fact = result(bench, **REFUSED[rule])
    assert (fact["verdict"], fact["rule"]) == ("rejected", rule)
    assert fact["call_key"] == ("other" if rule == "call_not_found" else "R")
    assert result(bench)["rule"] == "call_answered", "the call is still open"


def test_data_is_of_the_resource_that_was_asked_for() -> None:
    bench = Bench()
    fetch(bench)
    assert data(bench, {"resource_uri": "file:///other"})["rule"] == "resource_mismatch"


def test_an_answer_is_of_the_kind_of_its_call() -> None:
    bench = Bench()
    fetch(bench, id="R")
    assert result(bench, correlation_id="R")["rule"] == "call_not_found"


def test_one_call_per_request_id() -> None:
    bench = Bench()
    call(bench)
    assert call(bench)["rule"] == "same_envelope"
    assert call(bench, id="C2")["rule"] == "call_conflict"
    result(bench)
    assert call(bench, id="C2")["rule"] == "call_conflict"
    again = call(bench, id="C2", at=START_MS + WEEK_MS + 1)
    assert again["rule"] == "call_opened", "a closed call is forgotten after a week"


def test_one_answer_per_call() -> None:
    bench = Bench()
    call(bench)
    assert result(bench, id="A")["rule"] == "call_answered"
    assert result(bench, id="A")["rule"] == "same_envelope"
    late = result(bench, id="B")
    assert (late["rule"], late["asap_error"]) == ("call_closed", "asap:task/already_completed")


def test_a_call_ends_when_its_time_is_over() -> None:
    bench = Bench(asap_call_timeout_seconds=10)
    call(bench, trace_id="tr")
    bench.advance_to(START_MS + 10_000)
    fact = bench.facts()[-1]
    assert (fact["kind"], fact["rule"], fact["verdict"]) == ("call_timeout", "call_timeout", None)
    assert (fact["call_key"], fact["cause"]) == ("R", f"timer/call/R/{START_MS + 10_000}")
    assert rtes_payloads(bench)[-1][1]["status"] == "timeout"
    assert bench.inbox(PLANNER) == []
    assert result(bench)["rule"] == "call_closed"


def test_an_answer_in_time_counts_however_late_it_is_read() -> None:
    bench = Bench(asap_call_timeout_seconds=10)
    call(bench)
    assert result(bench, at=START_MS + 10_000)["rule"] == "call_answered"
    assert bench.fire(START_MS + HOUR_MS) == []


def test_an_answer_out_of_time_does_not_count_however_early_it_is_read() -> None:
    bench = Bench(asap_call_timeout_seconds=10)
    call(bench)
    assert result(bench, at=START_MS + 10_001)["rule"] == "call_closed"
    timeout = bench.facts()[1]
    assert (timeout["rule"], timeout["cause"]) == (
        "call_timeout",
        f"timer/call/R/{START_MS + 10_000}",
    )
    assert bench.fire(START_MS + HOUR_MS) == [], "it times out once"


def test_a_call_goes_to_an_agent_that_is_there() -> None:
    bench = with_manifests(Bench(), manifest(STRANGER))
    assert call(bench)["rule"] == "agent_not_found"
    assert fetch(bench)["rule"] == "agent_not_found"
    assert bench.rows(ASAP_CALLS) == {}


def test_closed_calls_are_swept_away() -> None:
    bench = Bench()
    call(bench)
    result(bench)
    bench.advance_to(START_MS + WEEK_MS + 2 * HOUR_MS)
    assert bench.rows(ASAP_CALLS) == {}
