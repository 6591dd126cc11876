"""SAP over HTTP: a real gateway, worker, agent and Kafka."""

from __future__ import annotations

import json
import signal as signals
import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.system import Live, live
from tests.integration.test_gateway import got, sent
from tests.processes import ROOT, environ_of, named
from tests.unit.protocols.sap.queries.stage import cached, result, signal, task

pytestmark = pytest.mark.slow

TASKS, RESULTS, SIGNALS = "/v1/sap/tasks", "/v1/sap/results", "/v1/sap/signals"
READS = 60
Json = dict[str, Any]


@pytest.fixture
def http(system: Live) -> Iterator[httpx.Client]:
    with system.client as client:
        yield client


@pytest.fixture
def agent(system: Live) -> None:
    """One for all tests; it answers what names it."""
    system.agent("A-ml-001")


def fresh(of: Json, **more: Any) -> Json:
    """As another task, in a trace of its own, for the agent."""
    ids = {"taskId": str(uuid.uuid4()), "correlationId": str(uuid.uuid4())}
    target = {"capability": "report.summarise", "agentId": "A-ml-001"}
    return {**of, **ids, "target": target, **more}


def post_and_wait(
    http: httpx.Client, of: Json, seconds: int = 30, path: str = TASKS
) -> httpx.Response:
    return http.post(path, json=of, headers={"Prefer": f"wait={seconds}"})


def test_a_task_is_answered_then_answered_from_the_cache(http: httpx.Client, agent: None) -> None:
    payload = {"document": str(uuid.uuid4())}
    first, second = fresh(cached(), payload=payload), fresh(cached(), payload=payload)
    answer = post_and_wait(http, first)
    body = answer.json()
    assert (answer.status_code, body["status"]) == (200, "SUCCEEDED"), answer.text
    assert answer.headers["X-Correlation-Id"] == first["correlationId"]
    assert body["constitutionalEvidence"]["cache"]["hit"] is False
    hit = post_and_wait(http, second).json()
    assert hit["meta"]["headrace"]["rule"] == "cache_hit"
    assert hit["constitutionalEvidence"]["cache"]["hit"] is True
    assert hit["output"] == body["output"]
    row = got(http, f"{TASKS}/{second['taskId']}")
    assert (row["state"], row["cache"]["hitVersion"]) == ("SUCCEEDED", 1)
    key = row["cache"]["cacheKey"]
    assert got(http, f"/v1/sap/cache/{key}")["versions"] == 1
    assert got(http, f"/v1/sap/cache/{key}/versions")["versions"][0]["verified"] is True


def test_tasks_in_a_row_are_read_back(http: httpx.Client) -> None:
    stale, nobody = 0, {"capability": "report.summarise", "agentId": "nobody"}
    for _ in range(READS):
        of = fresh(task(), target=nobody)
        (position,) = sent(http, TASKS, of)
        body = got(http, f"{TASKS}/{of['taskId']}", after=position)
        stale += (body["state"], body["task"]) != ("QUEUED", of)
    assert stale == 0


def test_an_outcome_is_never_ahead_of_its_task(http: httpx.Client, agent: None) -> None:
    for _ in range(20):
        of = fresh(task())
        outcome = post_and_wait(http, of).json()
        body = got(http, f"{TASKS}/{of['taskId']}")
        assert (body["state"], body["outcomes"][-1]) == ("SUCCEEDED", outcome)


def test_many_wait_at_once(system: Live, agent: None) -> None:
    tasks = [fresh(task()) for _ in range(60)]

    def ask(of: Json) -> Json:
        with system.client as http:
            answer = post_and_wait(http, of)
            assert answer.status_code == 200, answer.text
            body: Json = answer.json()
            return body

    with ThreadPoolExecutor(60) as pool:
        answers = list(pool.map(ask, tasks))
    assert [answer["taskId"] for answer in answers] == [of["taskId"] for of in tasks]


def test_refusals_have_their_status(http: httpx.Client) -> None:
    of = fresh(task(), target={"capability": "nobody.there"})
    sent(http, TASKS, of)
    conflict = post_and_wait(http, {**of, "payload": {}})
    assert (conflict.status_code, conflict.json()["rule"]) == (409, "task_id_conflict")
    late = post_and_wait(http, of, 1)
    assert (late.status_code, late.json()["state"]) == (202, "QUEUED")
    other = {**result(of), "correlationId": str(uuid.uuid4())}
    wrong = post_and_wait(http, other, path=RESULTS)
    assert (wrong.status_code, wrong.json()["rule"]) == (422, "correlation_mismatch")
    assert wrong.headers["content-type"] == "application/json"
    early = post_and_wait(
        http, signal(of, rating=1) | {"signalId": str(uuid.uuid4())}, path=SIGNALS
    )
    assert (early.status_code, early.json()["rule"]) == (409, "signal_too_early")


def test_a_cancel_ends_the_wait_of_others(system: Live, http: httpx.Client) -> None:
    of = fresh(task(), target={"capability": "nobody.there"})
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: post_and_wait(http, of))
        while http.get(f"{TASKS}/{of['taskId']}").status_code == 404:
            pass
        with system.client as other:
            stop = signal(of, kind="cancel") | {"signalId": str(uuid.uuid4())}
            assert post_and_wait(other, stop, path=SIGNALS).json()["verdict"] == "accepted"
        assert waiting.result().json()["status"] == "CANCELLED"


def test_without_a_worker_the_sender_is_told_where_it_is(broker: str, tmp_path: Path) -> None:
    with live(broker, tmp_path, GATEWAY_WAIT_S="1") as system, system.client as http:
        of = fresh(task())
        sent(http, TASKS, fresh(task()))
        system.worker.signal(signals.SIGSTOP)
        answer = post_and_wait(http, of, 1)
        assert (answer.status_code, answer.json()["state"]) == (202, None)
        (position,) = answer.json()["positions"]
        system.worker.signal(signals.SIGCONT)
        path = f"{TASKS}/{of['taskId']}"
        while (response := http.get(path, params={"after": position})).status_code == 504:
            pass
        assert response.json()["state"] == "QUEUED"


def run(system: Live, *arguments: str) -> tuple[int, str]:
    state = {"STATE_DIR": str(system.folder / "commands")}
    done = subprocess.run(
        [sys.executable, "-m", "streams.cli", *arguments],
        cwd=ROOT,
        env=environ_of(named({**system.environ, **state})),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout


def test_the_commands_say_the_same(system: Live, http: httpx.Client, agent: None) -> None:
    of = fresh(cached(), payload={"document": str(uuid.uuid4())})
    position = sent(http, TASKS, of)[-1]
    code, out = run(system, "sap-task", of["taskId"], "--wait", "30", "--json", "--after", position)
    row = json.loads(out)
    assert (code, row["state"]) == (0, "SUCCEEDED")
    assert row == got(http, f"{TASKS}/{of['taskId']}")
    code, out = run(system, "sap-result", of["taskId"])
    assert (code, json.loads(out)) == (0, row["outcomes"][-1])
    code, out = run(system, "sap-explain", of["taskId"], "--json")
    verification = json.loads(out)
    assert (code, [each["rule"] for each in verification["commands"]]) == (0, ["accepted"] * 3)
    assert verification["commands"][-1]["evaluation"]["alignment"] == "VALID"
    code, out = run(system, "sap-cache", "--verify", "--json")
    assert (code, json.loads(out)["firstBad"]) == (0, None)
    code, out = run(system, "sap-learning", "report.summarise", "--json")
    assert (code, bool(json.loads(out)["items"])) == (0, True)
