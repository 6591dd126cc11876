"""Summit over HTTP and from the command line: a real gateway, worker, agent and Kafka."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.system import Live
from tests.integration.test_gateway import got
from tests.processes import ROOT, Process, environ_of, named, wait_for
from tests.unit.protocols.summit.queries.stage import (
    AGENT,
    RESULT,
    Json,
    cancel,
    invoke,
    manifest,
    progress,
    query,
    result,
    tool_call,
)

pytestmark = pytest.mark.slow

EXAMPLES = files("schemas").joinpath("examples", "summit")
RUNS, MANIFESTS = "/v1/summit/runs", "/v1/summit/manifests"
CALLS, REPLIES = "/v1/summit/calls", "/v1/summit/replies"
AT_ONCE = 40


@pytest.fixture(scope="module", autouse=True)
def agent(system: Live) -> Iterator[Process]:
    """The example's agent at work."""
    agent = system.process("words", "streams.agents.summit", AGENT)
    agent.wait_text(f"agent {AGENT}\n")
    yield agent
    agent.kill()


@pytest.fixture
def http(system: Live) -> Iterator[httpx.Client]:
    with system.client as client:
        yield client


def fresh(name: str = "run") -> str:
    return f"{name}-{uuid.uuid4().hex[:12]}"


def called(http: httpx.Client, body: Any, wait: int | None = None) -> Any:
    headers = {} if wait is None else {"Prefer": f"wait={wait}"}
    answer = http.post("/summit", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def post_for_verdicts(http: httpx.Client, path: str, *values: Any) -> list[Json]:
    answer = http.post(path, json=list(values), headers={"Prefer": "wait=20"})
    assert answer.status_code == 200, answer.text
    verdicts: list[Json] = answer.json()["verdicts"]
    return verdicts


def without_timing(result: Json) -> Json:
    """Without what differs from run to run."""
    timed = {"timestamp": RESULT["provenance"]["timestamp"]}
    metrics = {**result["metrics"], "latency_ms": RESULT["metrics"]["latency_ms"]}
    return {**result, "metrics": metrics, "provenance": {**result["provenance"], **timed}}


def test_the_worked_example(http: httpx.Client) -> None:
    run = fresh()
    response = called(http, invoke(run))
    assert without_timing(response["result"]) == RESULT
    body = got(http, f"{RUNS}/{run}")
    assert (body["status"], body["output"]) == ("completed", RESULT["output"])
    assert called(http, {**invoke(run), "id": 2})["result"] == response["result"]


def test_the_documents_of_the_seed_as_printed(http: httpx.Client) -> None:
    """The agent answers over HTTP too."""
    text = EXAMPLES.joinpath("manifests", "seed.yaml").read_text("utf-8")
    headers = {"content-type": "application/yaml", "Prefer": "wait=20"}
    posted = http.post(MANIFESTS, content=text, headers=headers)
    assert posted.json()["verdicts"][0]["verdict"] in ("accepted", "duplicate")
    call = json.loads(EXAMPLES.joinpath("calls", "seed.json").read_text("utf-8"))
    reply = json.loads(EXAMPLES.joinpath("replies", "seed.json").read_text("utf-8"))
    reply.pop("verification", None)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(called, http, call, 20)
        wait_for(lambda: http.get(f"{RUNS}/run-12345").status_code == 200, "the run is there")
        assert post_for_verdicts(http, REPLIES, reply)[0]["rule"] == "reply.result"
        response = waiting.result()
    assert response == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "status": "completed",
            "output": {"summary": "...", "sources": ["..."], "confidence": 0.85},
            "metrics": {"tokens": 4500, "latency_ms": 12000, "cost_usd": 0.04},
            "provenance": {"model": "gpt-4o", "timestamp": "2026-01-05T12:00:00Z"},
        },
    }
    assert got(http, f"{RUNS}/run-12345")["inputs"]["depth"] == 2


def test_a_batch(http: httpx.Client) -> None:
    run, tool = fresh(), fresh("tool")
    notification = {k: v for k, v in cancel(fresh("none")).items() if k != "id"}
    batch = [
        query("agent.status", runId=run),
        invoke(run),
        notification,
        tool_call(tool),
        {"id": 3},
    ]
    answer = http.post("/summit", json=batch)
    status, ran, used, wrong = answer.json()
    assert status["result"]["status"] == "completed"
    assert without_timing(ran["result"]) == RESULT
    assert used["result"] == {"id": "t/1", "output": "to-be"}
    assert (wrong["id"], wrong["error"]["code"]) == (3, -32600)
    assert len(answer.headers["headrace-position"].split(",")) == 3


def test_a_notification(http: httpx.Client) -> None:
    none = fresh("none")
    notification = {k: v for k, v in cancel(none).items() if k != "id"}
    answer = http.post("/summit", json=notification)
    assert (answer.status_code, answer.content) == (204, b"")
    position = answer.headers["headrace-position"]
    (event,) = got(http, f"{RUNS}/{none}/events", after=position)["items"]
    assert event["rule"] == "run.unknown"


def test_a_long_run_is_asked_for_again(http: httpx.Client) -> None:
    """Of an agent that is played here."""
    agent, run = fresh("slow"), fresh()
    assert post_for_verdicts(http, MANIFESTS, manifest(agent))[0]["rule"] == "manifest.accepted"
    pending = called(http, invoke(run, agent, traceId="tr-1"), 1)["error"]
    assert (pending["code"], pending["data"]["status"]) == (-32001, "queued")
    post_for_verdicts(http, REPLIES, progress(run, agent=agent))
    again = called(http, invoke(run, agent, traceId="tr-1"), 0)["error"]
    assert again["data"]["status"] in (None, "running")
    (fact,) = post_for_verdicts(http, REPLIES, result(run, agent=agent))
    call = query("agent.status", runId=run, after=fact["cause"])
    assert called(http, call)["result"]["result"] == RESULT


def test_many_calls_at_once(http: httpx.Client) -> None:
    runs = [fresh() for _ in range(AT_ONCE)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        responses = list(pool.map(lambda run: called(http, invoke(run)), runs))
    assert [without_timing(response["result"]) for response in responses] == [RESULT] * AT_ONCE
    counts = called(http, query("agent.status", agentId=AGENT))["result"]
    assert counts["runs"]["completed"] >= AT_ONCE
    assert counts["oldestQueuedAt"] is None


def command(system: Live, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "streams.cli", *words],
        cwd=ROOT,
        env=environ_of(named({**system.environ, "STATE_DIR": str(folder)})),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_commands(system: Live, tmp_path: Path) -> None:
    run = fresh()
    inputs = '{"text": "to be or not to be"}'
    ran = command(system, tmp_path, "summit-invoke", AGENT, "--inputs", inputs, "--run-id", run)
    assert (ran.returncode, ran.stderr) == (0, f"{run}\n")
    assert json.loads(ran.stdout)["output"] == RESULT["output"]
    verification = command(system, tmp_path, "summit-verify", run)
    assert (verification.returncode, verification.stdout.count(" ok ")) == (0, 5), (
        verification.stdout
    )
    status = command(system, tmp_path, "summit-status", run)
    assert (status.returncode, json.loads(status.stdout)["status"]) == (0, "completed")
    ended = command(system, tmp_path, "summit-cancel", run)
    assert (ended.returncode, "run.terminal" in ended.stdout) == (1, True)
    bad = command(system, tmp_path, "summit-invoke", AGENT, "--inputs", "{")
    assert (bad.returncode, "json.parse" in bad.stderr) == (2, True)


def test_an_agent_that_does_not_answer_in_time(system: Live, tmp_path: Path) -> None:
    agent = fresh("slow")
    path = tmp_path / "agent.json"
    path.write_text(json.dumps(manifest(agent)))
    made = command(system, tmp_path, "summit-register", str(path))
    assert (made.returncode, "manifest.accepted" in made.stdout) == (0, True), made.stderr
    arguments = ("--inputs", '{"text": "x"}', "--wait", "1")
    late = command(system, tmp_path, "summit-invoke", agent, *arguments)
    assert (late.returncode, "run.pending" in late.stderr) == (3, True)
    gone = command(system, tmp_path, "summit-withdraw", agent, "--json")
    assert json.loads(gone.stdout)["verdicts"][0]["rule"] == "manifest.withdrawn"


def test_a_service_that_is_away(system: Live, tmp_path: Path) -> None:
    away = {**system.environ, "BOOTSTRAP": "127.0.0.1:1", "STATE_DIR": str(tmp_path)}
    process = subprocess.run(
        [sys.executable, "-m", "streams.cli", "summit-status", "x"],
        cwd=ROOT,
        env=environ_of(named(away)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (process.returncode, "broker_unavailable" in process.stderr) == (4, True)
