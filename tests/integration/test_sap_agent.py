"""The example agent as a process: killed, started again, and nothing is answered twice."""

from __future__ import annotations

import signal
import uuid

import pytest

from tests.integration.system import Live
from tests.integration.test_gateway import got, sent
from tests.integration.test_gateway_sap import TASKS, fresh
from tests.processes import wait_for
from tests.unit.protocols.sap.queries.stage import task

pytestmark = pytest.mark.slow


def states(system: Live, ids: list[str]) -> list[str]:
    with system.client as http:
        return [got(http, f"{TASKS}/{each}")["state"] for each in ids]


def _wait_for_more(system: Live, ids: list[str]) -> None:
    """Until more are answered than before, or all."""
    before = states(system, ids).count("SUCCEEDED")

    def more() -> bool:
        return states(system, ids).count("SUCCEEDED") > min(before + 5, len(ids) - 1)

    wait_for(more, "some are answered")


def test_it_is_killed_again_and_again(system: Live) -> None:
    """Every task ends once, with one outcome of each status, whatever the agent did twice."""
    tasks = [fresh(task()) for _ in range(120)]
    ids = [each["taskId"] for each in tasks]
    with system.client as http:
        for each, position in zip(ids, sent(http, TASKS, tasks), strict=True):
            assert got(http, f"{TASKS}/{each}", after=position)["state"] == "QUEUED"
    for _ in range(3):
        agent = system.agent("A-ml-001", anew=True)
        _wait_for_more(system, ids)
        agent.kill()
    system.agent("A-ml-001", anew=True)
    wait_for(lambda: set(states(system, ids)) == {"SUCCEEDED"}, "all are answered")
    with system.client as http:
        for each in ids:
            body = got(http, f"{TASKS}/{each}")
            assert [o["status"] for o in body["outcomes"]] == ["RUNNING", "SUCCEEDED"]
            assert {ack["verdict"] for ack in body["acks"]} <= {"accepted", "duplicate"}


def test_it_answers_by_capability(system: Live) -> None:
    capability = f"example.c{uuid.uuid4().hex[:8]}"
    of = {**fresh(task()), "target": {"capability": capability}}
    with system.client as http:
        sent(http, TASKS, of)
        system.agent("B-1", "--capability", capability)
        answer = http.post(TASKS, json=of, headers={"Prefer": "wait=30"})
        assert answer.json()["producer"]["agentId"] == "B-1"


def test_it_ends_when_it_is_told_to(system: Live) -> None:
    agent = system.agent("C-1")
    agent.signal(signal.SIGTERM)
    assert agent.exit_code() == 0
