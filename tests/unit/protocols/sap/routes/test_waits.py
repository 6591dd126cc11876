"""`Prefer: wait` and `X-Correlation-Id` on SAP's routes."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from streams.api import prefer
from streams.protocols.sap.queries import tasks
from tests.processes import wait_for
from tests.unit.gateway.bench import GatewayBench
from tests.unit.protocols.sap.queries.stage import (
    TRACE,
    SapInboxAgent,
    cached,
    result,
    signal,
    task,
)
from topology.sap import SAP_TASKS

TASKS, RESULTS, SIGNALS = "/v1/sap/tasks", "/v1/sap/results", "/v1/sap/signals"
Json = dict[str, Any]


def waiting(seconds: object) -> dict[str, str]:
    return {"Prefer": f"wait={seconds}"}


def ask_while(
    gateway: GatewayBench, requests: Sequence[tuple[str, str, Json]], work: Callable[[], object]
) -> list[httpx.Response]:
    """All at once; the work is done once all that they send is on the log."""
    before = len(gateway.bench.records(SAP_TASKS.name))
    posted = sum(path == TASKS for _, path, _ in requests)

    def then() -> None:
        wait_for(
            lambda: len(gateway.bench.records(SAP_TASKS.name)) >= before + posted, "all is sent"
        )
        work()

    thread = threading.Thread(target=then)
    thread.start()
    try:
        return gateway.ask_all(requests)
    finally:
        thread.join()


def post(path: str, value: Any, seconds: object = 20) -> tuple[str, str, Json]:
    return ("POST", path, {"json": value, "headers": waiting(seconds)})


@pytest.fixture
def inbox_agent(gateway: GatewayBench) -> SapInboxAgent:
    return SapInboxAgent(gateway.bench)


def test_a_sender_waits_for_the_outcome(gateway: GatewayBench, inbox_agent: SapInboxAgent) -> None:
    of = cached()
    (answer,) = ask_while(gateway, [post(TASKS, of)], inbox_agent.work)
    body = answer.json()
    assert (answer.status_code, body["status"]) == (200, "SUCCEEDED"), answer.text
    assert body["meta"]["headrace"]["rule"] == "agent_status"
    assert answer.headers["Preference-Applied"] == "wait=20"
    assert answer.headers["X-Correlation-Id"] == TRACE
    assert answer.headers["content-type"] == "application/json"
    task_json = gateway.get(f"{TASKS}/{of['taskId']}")
    assert task_json["state"] == "SUCCEEDED", "what was written beside the outcome is seen, too"
    assert body == task_json["outcomes"][-1]


def test_a_duplicate_gets_the_first_outcome(
    gateway: GatewayBench, inbox_agent: SapInboxAgent
) -> None:
    of = cached()
    first, second = ask_while(gateway, [post(TASKS, of)] * 2, inbox_agent.work)
    third = ask_while(gateway, [post(TASKS, of)], gateway.bench.host.run)[0]
    assert first.json() == second.json() == third.json()
    assert {answer.status_code for answer in (first, second, third)} == {200}


def test_time_may_be_up(tmp_path: Path) -> None:
    with GatewayBench(tmp_path, sap_max_wait_s=1) as gateway:
        of = task()
        (answer,) = ask_while(gateway, [post(TASKS, of, 30)], gateway.bench.host.run)
        assert (answer.status_code, answer.headers["Preference-Applied"]) == (202, "wait=1")
        (position,) = answer.json()["positions"]
        assert answer.json() == {
            "positions": [position],
            "taskId": of["taskId"],
            "state": "QUEUED",
        }
        unjudged = gateway.ask(*post(TASKS, task(2), 1)[:2], **post(TASKS, task(2), 1)[2])
        assert (unjudged.status_code, unjudged.json()["state"]) == (202, None)


def test_without_time_nobody_waits(gateway: GatewayBench) -> None:
    answer = gateway.ask("POST", TASKS, json=task(), headers=waiting(0))
    assert (answer.status_code, answer.headers["Preference-Applied"]) == (202, "wait=0")


@pytest.mark.parametrize(
    "preference", ["wait", "wait=", "wait=-1", "wait=1.5", "wait=x", "respond-async", "", "xwait=3"]
)
def test_a_preference_that_is_none_is_ignored(gateway: GatewayBench, preference: str) -> None:
    answer = gateway.ask("POST", TASKS, json=task(), headers={"Prefer": preference})
    assert answer.status_code == 202
    assert "Preference-Applied" not in answer.headers
    assert tuple(answer.json()) == ("positions",)


@pytest.mark.parametrize("seconds", ["9" * 20, "9" * 5000, "0" * 30 + "9"])
def test_a_long_wait_is_cut_however_long(seconds: str) -> None:
    assert prefer.wait_s({"Prefer": f"wait={seconds}"}, 5) == 5
    assert prefer.wait_s({"Prefer": f'wait="{seconds}"'}, 60) in (9, 60)


@pytest.mark.parametrize(
    "preference", ["respond-async, wait=0", 'Wait="0"', "wait = 0; foo=1", "a=1,b, wait=0 ,wait=9"]
)
def test_a_preference_among_others(gateway: GatewayBench, preference: str) -> None:
    answer = gateway.ask("POST", TASKS, json=task(), headers={"Prefer": preference})
    assert answer.headers["Preference-Applied"] == "wait=0"


@pytest.mark.parametrize("count", [1, 2])
def test_a_list_is_not_waited_for(gateway: GatewayBench, count: int) -> None:
    several = [task(number) for number in range(count)]
    answer = gateway.ask("POST", TASKS, json=several, headers=waiting(20))
    assert answer.status_code == 202
    assert "Preference-Applied" not in answer.headers


def test_a_refusal_comes_with_its_status(gateway: GatewayBench) -> None:
    of = task()
    gateway.send(TASKS, of)
    other = {**of, "payload": {}}
    (answer,) = ask_while(gateway, [post(TASKS, other)], gateway.bench.host.run)
    body = answer.json()
    assert (answer.status_code, body["rule"], body["status"]) == (409, "task_id_conflict", "NACK")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["X-Correlation-Id"] == TRACE


def test_a_refused_rate_says_when_to_come_again() -> None:
    nack = {"status": "NACK", "rule": "rate_limited", "retryAfterMs": 1100}
    answer = tasks.ack_response(nack)
    assert (answer.status, answer.headers["Retry-After"]) == (429, "2")


def test_reporters_and_operators_wait_for_the_verdict(gateway: GatewayBench) -> None:
    of = task()
    gateway.send(TASKS, of)

    def post_and_run(path: str, value: Json) -> httpx.Response:
        def work() -> None:
            wait_for(lambda: len(gateway.bench.records(topic)) > before, "it is sent")
            gateway.bench.host.run()

        topic = path.removeprefix("/v1/").replace("/", ".")
        before = len(gateway.bench.records(topic))
        return ask_while(gateway, [post(path, value)], work)[0]

    done = post_and_run(RESULTS, result(of, output={"n": 1}))
    assert (done.status_code, done.json()["verdict"]) == (200, "accepted")
    late = post_and_run(RESULTS, result(of, output={"n": 2}))
    assert (late.status_code, late.json()["rule"]) == (409, "task_closed")
    unknown = post_and_run(SIGNALS, signal(task(7), rating=3))
    assert (unknown.status_code, unknown.json()["rule"]) == (404, "unknown_task")
    rated = post_and_run(SIGNALS, signal(of, rating=3))
    assert (rated.status_code, rated.json()["subject"]) == (200, "SIGNAL")
    agent_signal = signal(of, 2, rating=3) | {
        "operator": {"agentId": "A-ml-001", "agentKind": "agent"}
    }
    assert post_and_run(SIGNALS, agent_signal).status_code == 403


def test_no_thread_is_kept_per_waiter(gateway: GatewayBench, inbox_agent: SapInboxAgent) -> None:
    peak = []

    def work() -> None:
        peak.append(threading.active_count())
        inbox_agent.work()

    before = threading.active_count()
    requests = [post(TASKS, task(number)) for number in range(120)]
    answers = ask_while(gateway, requests, work)
    assert [answer.status_code for answer in answers] == [200] * 120
    assert peak[0] < before + 20
    assert {answer.json()["taskId"] for answer in answers} == {
        value["json"]["taskId"] for _, _, value in requests
    }


def test_a_gateway_that_stops_lets_waiters_go(tmp_path: Path) -> None:
    with GatewayBench(tmp_path) as gateway:
        answers = ask_while(gateway, [post(TASKS, task(), 15)], gateway.view.stop)
        assert (answers[0].status_code, answers[0].json()["state"]) == (202, None)


def test_a_gateway_that_is_being_stopped_says_how_far_it_is(gateway: GatewayBench) -> None:
    def work() -> None:
        gateway.bench.host.run()
        wait_for(lambda: gateway.ask("GET", f"{TASKS}/{of['taskId']}").status_code == 200, "seen")
        gateway.view.drain()

    of = task()
    (answer,) = ask_while(gateway, [post(TASKS, of, 60)], work)
    assert (answer.status_code, answer.json()["state"]) == (202, "QUEUED")


OTHER = "00000000-0000-0000-0000-000000000001"


def correlated(value: Json, trace: str) -> Json:
    return {**value, "correlationId": trace}


@pytest.mark.parametrize(
    ("traces", "header"),
    [([TRACE, TRACE], TRACE), ([TRACE.upper(), TRACE], TRACE.upper()), ([TRACE, OTHER], None)],
)
def test_a_batch_of_one_trace_says_so(
    gateway: GatewayBench, traces: list[str], header: str | None
) -> None:
    values = [correlated(task(number), trace) for number, trace in enumerate(traces)]
    answer = gateway.ask("POST", TASKS, json=values)
    assert answer.status_code == 202
    assert answer.headers.get("X-Correlation-Id") == header


@pytest.mark.parametrize("header", [TRACE, TRACE.upper(), f" {TRACE} "])
def test_a_header_that_says_the_same_is_fine(gateway: GatewayBench, header: str) -> None:
    answer = gateway.ask("POST", TASKS, json=task(), headers={"X-Correlation-Id": header})
    assert answer.status_code == 202


@pytest.mark.parametrize("header", [OTHER, "x", "", f"{TRACE}, {TRACE}"])
@pytest.mark.parametrize("path", [TASKS, RESULTS, SIGNALS])
def test_a_header_that_says_otherwise_is_refused(
    gateway: GatewayBench, path: str, header: str
) -> None:
    value = {TASKS: task(), RESULTS: result(task()), SIGNALS: signal(task(), rating=1)}[path]
    answer = gateway.ask("POST", path, json=value, headers={"X-Correlation-Id": header})
    body = answer.json()
    actual = (answer.status_code, body["rule"], body["path"])
    assert actual == (422, "correlation_mismatch", "/correlationId")
    assert answer.headers["X-Correlation-Id"] == TRACE
    assert gateway.bench.records(path.removeprefix("/v1/").replace("/", ".")) == []


def test_of_a_batch_each_other_id_is_named(gateway: GatewayBench) -> None:
    values = [task(1), correlated(task(2), OTHER), {**task(3), "issuer": None}]
    answer = gateway.ask("POST", TASKS, json=values, headers={"X-Correlation-Id": TRACE})
    errors = [(error["index"], error["rule"]) for error in answer.json()["errors"]]
    assert errors == [(1, "correlation_mismatch"), (2, "missing_field")]


def test_a_task_is_shown_with_its_trace(gateway: GatewayBench) -> None:
    gateway.send(TASKS, task())
    position = gateway.send(RESULTS, result(task(9)))
    for number in (1, 9):
        path = f"{TASKS}/{task(number)['taskId']}"
        answer = gateway.ask("GET", path, params={"after": position})
        assert (answer.status_code, answer.headers["X-Correlation-Id"]) == (200, TRACE)
    assert "X-Correlation-Id" not in gateway.ask("GET", f"{TASKS}/{uuid.uuid4()}").headers


@pytest.mark.parametrize(
    ("content", "status", "rule"),
    [
        (b"{", 422, "bad_json"),
        (b"", 422, "bad_json"),
        (b'{"a":1,"a":2}', 422, "bad_json"),
        (b"[" * 5000, 422, "bad_json"),
        (b"[]", 422, "out_of_range"),
        (b"3", 422, "bad_type"),
        (b"[3]", 422, "bad_type"),
    ],
)
def test_what_is_no_envelope(gateway: GatewayBench, content: bytes, status: int, rule: str) -> None:
    headers = {"content-type": "application/json"}
    for path in (TASKS, RESULTS, SIGNALS):
        answer = gateway.ask("POST", path, content=content, headers=headers)
        body = answer.json()
        assert (answer.status_code, body["rule"]) == (status, rule)
        assert (body["errors"][0]["index"], body["errors"][0]["rule"]) == (0, rule)


def test_an_envelope_that_is_too_large(gateway: GatewayBench) -> None:
    large = task(payload={"text": "x" * 524_288})
    answer = gateway.ask("POST", TASKS, json=large)
    assert (answer.status_code, answer.json()["rule"]) == (413, "too_large")
    several = gateway.ask("POST", TASKS, json=[task()] * 1001)
    assert (several.status_code, several.json()["rule"]) == (413, "too_large")
    assert gateway.bench.records(SAP_TASKS.name) == []


def test_one_bad_envelope_keeps_all_back(gateway: GatewayBench) -> None:
    values = [task(1), {**task(2), "protocolVersion": "1.0"}, {**task(3), "taskId": "x"}]
    answer = gateway.ask("POST", TASKS, json=values)
    body = answer.json()
    assert (answer.status_code, body["rule"], body["path"]) == (
        422,
        "bad_version",
        "/protocolVersion",
    )
    assert [(error["index"], error["rule"]) for error in body["errors"]] == [
        (1, "bad_version"),
        (2, "bad_uuid"),
    ]
    assert gateway.bench.records(SAP_TASKS.name) == []


def test_the_most_that_is_sent_at_once(gateway: GatewayBench) -> None:
    answer = gateway.ask("POST", TASKS, json=[task(number) for number in range(1000)])
    assert (answer.status_code, len(answer.json()["positions"])) == (202, 1000)
