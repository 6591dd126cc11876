"""A gateway that holds a caller's answer until the critic has judged the run."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.system import Live, live
from tests.processes import wait_for
from tests.unit.protocols.summit.queries.stage import Json, invoke, result
from tests.unit.protocols.summit.queries.test_judging import CRITIC, PASSED, critic, with_critic

pytestmark = pytest.mark.slow

WAIT_S = 60
RUNS = "/v1/summit/runs"


@pytest.fixture(scope="module")
def http(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A gateway with the gate, and an agent whose manifest names a critic."""
    folder: Path = tmp_path_factory.mktemp("judging")
    gate = {"SUMMIT_JUDGE_GATE": "true", "GATEWAY_WAIT_S": str(WAIT_S)}
    with live(broker, folder, **gate) as system, _client_of(system) as client:
        posted(client, "/v1/summit/manifests", with_critic(budget={"seconds": 20}), critic())
        yield client


def _client_of(system: Live) -> httpx.Client:
    return httpx.Client(base_url=system.url, timeout=2 * WAIT_S)


def posted(client: httpx.Client, path: str, *values: Json) -> None:
    """Post commands, each of which is accepted."""
    answer = client.post(path, json=list(values), headers={"Prefer": f"wait={WAIT_S}"})
    assert answer.status_code == 200, answer.text
    assert {one["verdict"] for one in answer.json()["verdicts"]} == {"accepted"}


def call(client: httpx.Client, run: str) -> Json:
    """Call the agent, and wait for the answer."""
    headers = {"Prefer": f"wait={WAIT_S}"}
    answer = client.post("/summit", json=invoke(run), headers=headers)
    assert answer.status_code == 200, answer.text
    response: Json = answer.json()
    return response


def looked(client: httpx.Client, run: str) -> Json:
    answer = client.get(f"{RUNS}/{run}")
    row: Json = answer.json() if answer.status_code == 200 else {}
    return row


def held_answer(client: httpx.Client, pool: ThreadPoolExecutor) -> tuple[str, Future[Json], str]:
    """Return a completed run, its caller's answer to come, and the run of its critic."""
    run = f"run-{uuid.uuid4().hex[:12]}"
    waiting = pool.submit(call, client, run)
    wait_for(lambda: looked(client, run), "the run is there")
    posted(client, "/v1/summit/replies", result(run))
    wait_for(lambda: looked(client, run).get("judgeRunId"), "the run has its critic")
    judge_run: str = looked(client, run)["judgeRunId"]
    wait_for(lambda: looked(client, judge_run), "the critic is called")
    assert looked(client, run)["status"] == "completed"
    return run, waiting, judge_run


def test_the_gate_holds_the_answer_until_the_critic_has_judged(http: httpx.Client) -> None:
    with ThreadPoolExecutor(1) as pool:
        run, waiting, judge_run = held_answer(http, pool)
        assert not waiting.done()
        posted(http, "/v1/summit/replies", result(judge_run, PASSED, agent=CRITIC))
        answer: Any = waiting.result(WAIT_S)
    assert answer["result"]["verification"]["status"] == "passed"
    row = looked(http, run)
    assert (row["status"], row["verificationStatus"]) == ("completed", "passed")
    critic_row = looked(http, judge_run)
    assert (critic_row["judges"], critic_row["parentRunId"]) == (run, None)
    assert critic_row["traceId"] == row["traceId"]


def test_the_gate_opens_when_the_critic_takes_too_long(http: httpx.Client) -> None:
    with ThreadPoolExecutor(1) as pool:
        run, waiting, judge_run = held_answer(http, pool)
        answer: Any = waiting.result(2 * WAIT_S)
    assert answer["result"]["status"] == "completed"
    assert looked(http, judge_run)["reason"] == "budget.seconds"
    row = looked(http, run)
    assert (row["status"], row["verificationStatus"]) == ("completed", "flagged")
