"""`POST /asap` of the gateway: the server on the log (ASAP guide, 6.3), in memory."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from schemas.asap import Envelope, Manifest, generate_id
from streams.processing.encode import encode_value
from streams.settings import Settings
from tests.processes import wait_for
from tests.unit.asap.old_peer import read, request
from tests.unit.asap.support import AGENT, PAYLOADS, PLANNER, Json, call, envelope_json
from tests.unit.protocols.asap.routes.asap_bench import (
    SERVICE,
    AsapBench,
    asap_bench,
    begun,
    done,
    from_requester,
    from_worker,
    recorded,
    status,
    submitted,
)
from topology.asap import ASAP_ENVELOPES


def test_a_task_is_taken_at_once(bench: AsapBench) -> None:
    of = envelope_json()
    result = bench.result(of)
    assert set(result) == {"envelope", "verdict", "task_id", "position"}
    assert (result["verdict"], result["task_id"]) == ("accepted", of["id"])
    assert result["position"].startswith("asap.envelopes/")
    reply = Envelope.model_validate(result["envelope"])
    assert (reply.sender, reply.recipient) == (SERVICE, PLANNER)
    assert (reply.correlation_id, reply.trace_id) == (of["id"], "tr-19")
    assert reply.payload_type == "TaskUpdate"
    assert reply.payload == {
        "task_id": of["id"],
        "update_type": "status_change",
        "status": "submitted",
        "progress": None,
        "input_request": None,
    }
    position = result["position"]
    assert bench.get(f"/v1/asap/tasks/{of['id']}", after=position)["task"]["status"] == "submitted"


def test_who_waits_gets_the_response(bench: AsapBench) -> None:
    of = envelope_json()
    response = done(of["id"])
    answer = bench.meanwhile(of, 20, lambda: bench.result(response))
    assert answer.headers["Preference-Applied"] == "wait=20"
    result = answer.json()["result"]
    assert (result["verdict"], result["envelope"]) == ("accepted", recorded(response))


def test_a_duplicate_may_wait_too(bench: AsapBench) -> None:
    of = envelope_json()
    response = done(of["id"])
    bench.result(of)
    result = bench.meanwhile(of, 20, lambda: bench.result(response)).json()["result"]
    assert (result["verdict"], result["envelope"]) == ("duplicate", recorded(response))


def test_time_may_be_up(tmp_path: Path) -> None:
    with asap_bench(tmp_path, asap_max_wait_seconds=1) as bench:
        of = envelope_json()
        answer = bench.ask("POST", "/asap", json=call(of), headers={"Prefer": "wait=60"})
        assert answer.headers["Preference-Applied"] == "wait=1"
        assert status(answer.json()["result"]) == "submitted"
        bench.result(from_worker("TaskUpdate", of["id"], update_type="progress", status="working"))
        assert status(bench.result(of, prefer=0)) == "working"


@pytest.mark.parametrize("prefer", ["", "wait=x", "respond-async", "wait=-1"])
def test_a_preference_that_is_none(bench: AsapBench, prefer: str) -> None:
    answer = bench.ask("POST", "/asap", json=call(envelope_json()), headers={"Prefer": prefer})
    assert "Preference-Applied" not in answer.headers
    assert "result" in answer.json()


def test_a_duplicate_is_told_how_the_task_stands(bench: AsapBench) -> None:
    of = envelope_json()
    bench.result(of)
    task = of["id"]
    bench.result(from_worker("TaskUpdate", task, update_type="progress", status="working"))
    again = bench.result(of)
    assert (again["verdict"], again["task_id"], status(again)) == ("duplicate", task, "working")
    response = done(task)
    bench.result(response)
    again = bench.result(of)
    assert again["envelope"]["id"] == response["id"]
    assert again["envelope"]["payload_type"] == "TaskResponse"


def keyed(key: str, **more: Any) -> Json:
    payload = {**PAYLOADS["TaskRequest"], "config": {"idempotency_key": key}, **more}
    return envelope_json(payload=payload)


def test_the_same_work_is_done_once(bench: AsapBench) -> None:
    first, second, third = keyed("k"), keyed("k"), keyed("k", input={"other": 1})
    bench.result(first)
    bench.result(from_worker("TaskUpdate", first["id"], update_type="progress", status="working"))
    for of in (second, third):
        rpc_result = bench.result(of)
        assert (rpc_result["verdict"], rpc_result["task_id"]) == ("duplicate", first["id"])
        assert status(rpc_result) == "working"
        reply = rpc_result["envelope"]
        assert (reply["correlation_id"], reply["payload"]["task_id"]) == (of["id"], first["id"])
    response = done(first["id"])
    bench.result(response)
    assert bench.result(keyed("k"))["envelope"]["id"] == response["id"]


MOVES = {
    "working": lambda t: from_worker("TaskUpdate", t, update_type="progress", status="working"),
    "paused": lambda t: from_worker("TaskUpdate", t, update_type="status_change", status="paused"),
    "failed": lambda t: done(t, "failed"),
    "cancelled": lambda t: from_requester("TaskCancel", t),
    "artifact": lambda t: from_worker("ArtifactNotify", t, artifact_id="a"),
    "message": lambda t: from_requester(
        "MessageSend", t, message_id="m", sender=PLANNER, role="user", parts=["x"]
    ),
}
"""Envelopes about a task that works, by what it is after them, or what they are."""


@pytest.mark.parametrize("name", MOVES)
def test_the_rest_is_told_the_status_after(bench: AsapBench, name: str) -> None:
    task = begun(bench)
    of = MOVES[name](task)
    rpc_result = bench.result(of)
    expected = "working" if name in ("artifact", "message") else name
    reply = rpc_result["envelope"]
    assert (reply["payload_type"], reply["correlation_id"]) == ("TaskUpdate", of["id"])
    assert (reply["sender"], reply["recipient"]) == (SERVICE, of["sender"])
    assert (status(rpc_result), rpc_result["task_id"]) == (expected, task)
    again = bench.result(of)
    assert (again["verdict"], status(again), again["task_id"]) == ("duplicate", expected, task)


def saved(task: str, data: Json, **more: Any) -> Json:
    of = from_worker("TaskUpdate", task, update_type="progress", status="working")
    extension = {"dev.headrace.snapshot": {"data": data, **more}}
    return {**of, "recipient": SERVICE, "extensions": extension}


def test_a_state_is_asked_for_and_restored(bench: AsapBench) -> None:
    task = begun(bench)
    for page in (17, 31):
        assert status(bench.result(saved(task, {"page": page}, checkpoint=True))) == "working"
    query = {**from_requester("StateQuery", task), "recipient": SERVICE}
    reply = bench.result(query)["envelope"]
    assert (reply["sender"], reply["correlation_id"]) == (SERVICE, query["id"])
    snapshot = reply["extensions"]["dev.headrace.snapshot"]
    assert (snapshot["version"], snapshot["data"]) == (2, {"page": 31})
    first = bench.result({**from_requester("StateQuery", task, version=1), "recipient": SERVICE})
    first_id = first["envelope"]["extensions"]["dev.headrace.snapshot"]["id"]
    restore = from_requester("StateRestore", task, snapshot_id=first_id)
    rpc_result = bench.result(restore)["envelope"]["extensions"]["dev.headrace.snapshot"]
    assert (rpc_result["version"], rpc_result["data"]) == (3, {"page": 17})
    assert bench.result(query)["envelope"] == reply, "a duplicate gets the same answer"


def test_a_state_that_nobody_saved(bench: AsapBench) -> None:
    reply = bench.result({**from_requester("StateQuery", begun(bench)), "recipient": SERVICE})
    assert reply["envelope"]["extensions"] == {"dev.headrace.snapshot": None}


def test_a_call_is_answered(bench: AsapBench) -> None:
    of = envelope_json("McpToolCall")
    ends = {"sender": AGENT, "recipient": PLANNER, "correlation_id": of["id"]}
    answer = envelope_json("McpToolResult", **ends)
    rpc_result = bench.meanwhile(of, None, lambda: bench.result(answer)).json()["result"]
    assert (rpc_result["verdict"], rpc_result["task_id"]) == ("accepted", None)
    assert rpc_result["envelope"] == recorded(answer)


def test_calls_and_answers(tmp_path: Path) -> None:
    with asap_bench(tmp_path, asap_call_wait_seconds=1) as bench:
        of = envelope_json("McpToolCall", correlation_id="t-9")
        code, data = bench.refusal(of)
        assert (code, data["asap_error"]) == (-32603, "asap:execution/task_timeout")
        assert data["correlation_id"] == "t-9"
        assert bench.rpc(of)["error"]["message"] == "MCP call timed out"
        assert data["error"] == "The call r-1 was not answered within 1 s; it stays open."
        assert (data["call_key"], data["state"]) == ("r-1", "open")
        payload = {"request_id": "r-1", "success": True, "result": {"hits": 3}}
        ends = {"sender": AGENT, "recipient": PLANNER, "correlation_id": of["id"]}
        answer = envelope_json("McpToolResult", **ends, payload=payload)
        rpc_result = bench.result(answer)
        assert rpc_result["envelope"] == recorded(answer)
        assert bench.result(of)["envelope"] == recorded(answer)
        fetch = envelope_json("McpResourceFetch")
        assert bench.refusal(fetch, prefer=0)[1]["asap_error"] == "asap:execution/task_timeout"
        ends["correlation_id"] = fetch["id"]
        data_ = envelope_json("McpResourceData", **ends)
        assert bench.result(data_)["envelope"]["id"] == data_["id"]
        assert bench.result(fetch)["envelope"]["id"] == data_["id"]


def test_a_missing_trace_is_filled_in_and_said(bench: AsapBench) -> None:
    of = envelope_json(trace_id=None)
    first, again = bench.result(of), bench.result(of)
    for result in (first, again):
        assert (result["filled"], result["envelope"]["trace_id"]) == (["trace_id"], of["id"])
    assert (first["verdict"], again["verdict"]) == ("accepted", "duplicate")
    assert bench.get(f"/v1/asap/tasks/{of['id']}")["trace_id"] == of["id"]
    update = from_worker("TaskUpdate", of["id"], update_type="progress", status="working")
    assert bench.result({**update, "trace_id": None})["envelope"]["trace_id"] == of["id"]


@pytest.mark.parametrize("edge_first", [True, False])
def test_a_filled_trace_makes_no_other_envelope(bench: AsapBench, edge_first: bool) -> None:
    """A record from before, or from a producer without an edge, has no trace."""
    of = envelope_json(trace_id=None)
    raw = encode_value(ASAP_ENVELOPES, recorded(of), Settings())

    def by_kafka() -> None:
        before = bench.decided()
        bench.bench.log.append([raw])
        wait_for(lambda: bench.decided() > before, "it is decided")

    if edge_first:
        bench.result(of)
        by_kafka()
    else:
        by_kafka()
        bench.result(of)

    def rules() -> list[str]:
        events = bench.get(f"/v1/asap/envelopes/{of['id']}")["events"]
        return sorted(each["rule"] for each in events)

    wait_for(lambda: len(rules()) == 2, "the view has both verdicts")
    assert rules() == ["same_envelope", "task_created"]


def test_the_manifest_is_the_service_s(bench: AsapBench) -> None:
    service_manifest = Manifest.model_validate(bench.get("/.well-known/asap/manifest.json"))
    assert (service_manifest.id, service_manifest.endpoints.asap) == (SERVICE, "/asap")
    assert service_manifest.auth is None


def test_the_metrics_are_asap_s(bench: AsapBench) -> None:
    assert "asap_requests_total" in bench.ask("GET", "/asap/metrics").text
    bench.result(envelope_json())
    text = bench.ask("GET", "/asap/metrics").text
    assert 'asap_requests_success_total{payload_type="TaskRequest"} 1.0' in text


def test_a_trace_goes_on(bench: AsapBench) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    bench.ask("POST", "/asap", json=call(envelope_json()), headers={"traceparent": trace})
    for topic in ("asap.envelopes", "asap.inbox"):
        (record,) = bench.bench.records(topic)
        assert dict(record.headers)["traceparent"] == trace.encode()


@pytest.mark.parametrize("dotted", [False, True])
def test_an_old_client_is_understood_and_understands(bench: AsapBench, dotted: bool) -> None:
    of = request(AGENT, PLANNER, generate_id())
    if not dotted:
        of["params"]["envelope"]["payload_type"] = "TaskRequest"
    answer = bench.ask("POST", "/asap", json=of).json()
    envelope, payload = read(answer["result"]["envelope"], "task.update")
    assert envelope.payload_type == ("task.update" if dotted else "TaskUpdate")
    assert payload.model_dump()["status"] == "submitted"


def test_many_clients_at_once(bench: AsapBench) -> None:
    requests = [envelope_json() for _ in range(200)]
    answers = bench.rpc_all([(of, n, None) for n, of in enumerate(requests)])
    for n, (of, answer) in enumerate(zip(requests, answers, strict=True)):
        assert answer["id"] == n
        assert answer["result"]["task_id"] == of["id"]
        assert answer["result"]["envelope"]["correlation_id"] == of["id"]


def test_a_gateway_that_stops_lets_waiters_go(bench: AsapBench) -> None:
    of = envelope_json()
    bench.result(of)
    wait_for(lambda: bench.ask("GET", f"/v1/asap/tasks/{of['id']}").status_code == 200, "seen")
    answer = bench.meanwhile(of, 60, bench.view.drain).json()
    outcome = answer.get("result") or answer["error"]["data"]
    assert "envelope" in outcome or outcome["asap_error"] == "asap:transport/verdict_timeout"


@pytest.mark.parametrize("dotted", [False, True])
def test_an_old_worker_is_understood(bench: AsapBench, dotted: bool) -> None:
    """It has a task id of its own, and says what it answers by correlation_id."""
    task = submitted(bench)
    for kind, payload in (
        ("Update", {"update_type": "progress", "status": "working"}),
        ("Response", {"status": "completed", "result": {"n": 1}}),
    ):
        of = from_worker(f"Task{kind}", task, **payload)
        of["payload"]["task_id"] = "job-5"
        if dotted:
            of["payload_type"] = f"task.{kind.lower()}"
        assert bench.result(of)["task_id"] == task
    body = bench.get(f"/v1/asap/tasks/{task}")
    assert (body["task"]["status"], body["aliases"]) == ("completed", ["job-5"])
    assert body["response"]["payload_type"] == "TaskResponse"


@pytest.mark.parametrize(
    ("sent_time", "expected"),
    [
        ("2026-11-21T10:00:00", "2026-11-21T10:00:00Z"),
        ("2026-11-21T12:00:00+02:00", "2026-11-21T10:00:00Z"),
        (1_795_255_200, "2026-11-21T10:00:00Z"),
        ("2026-11-21T10:00:00.000001Z", "2026-11-21T10:00:00.000001Z"),
    ],
)
def test_times_are_kept_in_utc(bench: AsapBench, sent_time: object, expected: str) -> None:
    of = envelope_json(timestamp=sent_time)
    bench.result(of)
    (event,) = bench.get(f"/v1/asap/envelopes/{of['id']}")["events"]
    assert event["envelope"]["timestamp"] == expected


def test_an_envelope_may_come_without_id_and_time(bench: AsapBench) -> None:
    of = envelope_json(id=None)
    del of["timestamp"]
    result = bench.result(of)
    assert len(result["task_id"]) == 26
    assert result["envelope"]["correlation_id"] == result["task_id"]


def test_no_thread_is_kept_per_waiter(bench: AsapBench) -> None:
    requests = [envelope_json() for _ in range(120)]
    peak: list[int] = []

    def work() -> None:
        wait_for(lambda: bench.decided() >= len(requests), "all are decided")
        peak.append(threading.active_count())
        bench.rpc_all([(done(of["id"]), 1, None) for of in requests])

    before = threading.active_count()
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        answers = bench.rpc_all([(of, 1, 30) for of in requests])
        working.result()
    assert peak[0] < before + 20
    correlation_ids = [answer["result"]["envelope"]["correlation_id"] for answer in answers]
    assert correlation_ids == [of["id"] for of in requests]
