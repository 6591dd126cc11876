"""The example agents as processes: over HTTP and over Kafka, killed, and taking up their work."""

from __future__ import annotations

import json
import signal
import uuid
from functools import partial
from typing import Any

import pytest

from streams.agents.asap.indexer import State
from tests.integration.system import Live
from tests.integration.test_gateway import got
from tests.processes import Process, wait_for

Json = dict[str, Any]
MODULE = "streams.agents.asap"
WAYS = ("http", "kafka")
SERVICE = "urn:asap:agent:headrace"


class Pair:
    """A requester and a worker that speak to the system in one way, each a process."""

    def __init__(self, system: Live, over: str) -> None:
        self.system, self.over = system, over
        name = uuid.uuid4().hex[:8]
        self.planner, self.indexer = (f"urn:asap:agent:{role}:{name}" for role in ("p", "i"))
        self.trace = f"tr-{name}"
        self._name = name
        self._ways = ("--over", over, "--gateway", system.url.removeprefix("http://"))

    def worker(self, pace: float = 0.0) -> Process:
        arguments = ("--urn", self.indexer, *self._ways, "--pace", str(pace))
        process = self._start("worker", *arguments)
        process.wait_text(f"agent {self.indexer}\n")
        return process

    def requester(self, pages: int) -> Process:
        """It is at work when it has sent its request."""
        to = ("--to", self.indexer, "--pages", str(pages), "--trace", self.trace)
        process = self._start("requester", "--urn", self.planner, *self._ways, *to)
        process.wait_text('"hop": "sent"')
        return process

    def _start(self, role: str, *arguments: str) -> Process:
        """Of one name, so that a worker finds the file of the one before."""
        place = ("--state-dir", str(self.system.folder / self._name))
        name = f"{role}-{self._name}-{uuid.uuid4().hex[:8]}"
        return self.system.process(name, MODULE, role, *arguments, *place)

    def ended(self, requester: Process) -> Json:
        """The last line of a requester: the response."""
        assert requester.exit_code() == 0, requester.text()
        return lines(requester)[-1]

    def task(self, requester: Process) -> tuple[Json, list[Json]]:
        """The task and its events."""
        task_id = lines(requester)[0]["id"]
        with self.system.client as http:
            body = got(http, f"/v1/asap/tasks/{task_id}")
            events = got(http, f"/v1/asap/tasks/{task_id}/events", limit="1000")["events"]
        return body, events

    def has_done(self, requester: Process, pages: int) -> bool:
        """At least so many; none while the task is not known."""
        with self.system.client as http:
            answer = http.get(f"/v1/asap/tasks/{lines(requester)[0]['id']}")
        progress = answer.json()["task"]["progress"] if answer.status_code == 200 else None
        return progress is not None and int(progress["page"]) >= pages


def lines(process: Process) -> list[Json]:
    return [json.loads(line) for line in process.text().splitlines() if line.startswith("{")]


def digest(pages: int) -> str:
    state = State()
    for _ in range(pages):
        state = state.next()
    return state.digest


@pytest.mark.parametrize("over", WAYS)
def test_two_agents_complete_a_task(system: Live, over: str) -> None:
    """TaskRequest, TaskUpdates, TaskResponse; correlation and trace ids at every hop."""
    pair = Pair(system, over)
    worker = pair.worker()
    requester = pair.requester(5)
    ended = pair.ended(requester)
    assert (ended["status"], ended["result"]) == (
        "completed",
        {"pages": 5, "digest": digest(5)},
    )
    body, events = pair.task(requester)
    request = lines(requester)[0]
    assert body["task"]["status"] == "completed"
    assert body["snapshot_version"] == body["snapshot_mark"] == 6
    messages = [event for event in events if event["payload_type"] != "StateQuery"]
    kinds = ["TaskRequest", *["TaskUpdate"] * 5, "TaskResponse"]
    assert [event["payload_type"] for event in messages] == kinds
    assert {event["trace_id"] for event in messages} == {pair.trace}
    correlations = [event["envelope"]["correlation_id"] for event in messages]
    assert correlations == [None, *[request["id"]] * 6]
    hops = [hop for hop in lines(worker) if hop["payload_type"] not in ("StateQuery",)]
    between_agents = [hop for hop in hops if SERVICE not in (hop["sender"], hop["recipient"])]
    assert [hop["payload_type"] for hop in between_agents] == kinds
    assert {hop["trace_id"] for hop in between_agents} == {pair.trace}
    assert between_agents[0]["id"] == request["id"]
    worker.kill()


@pytest.mark.slow
@pytest.mark.parametrize("over", WAYS)
def test_a_worker_that_is_killed_goes_on_from_its_snapshot(system: Live, over: str) -> None:
    """Again and again, in the middle of its work: no page is left out, none is done twice."""
    pair, pages = Pair(system, over), 40
    worker = pair.worker(pace=0.02)
    requester = pair.requester(pages)
    for min_pages in (5, 15):
        wait_for(partial(pair.has_done, requester, min_pages), f"{min_pages} pages")
        worker.kill()
        worker = pair.worker(pace=0.02)
    ended = pair.ended(requester)
    assert ended["result"] == {"pages": pages, "digest": digest(pages)}
    body, events = pair.task(requester)
    updates = [event for event in events if event["payload_type"] == "TaskUpdate"]
    done = [event["envelope"]["payload"]["progress"]["page"] for event in updates]
    assert done == list(range(1, pages + 1))
    versions = [event["snapshot_version"] for event in updates]
    assert versions == list(range(1, pages + 1))
    assert body["snapshot_mark"] == pages + 1
    worker.kill()


@pytest.mark.slow
@pytest.mark.parametrize("over", WAYS)
def test_agents_end_when_they_are_told_to(system: Live, over: str) -> None:
    worker = Pair(system, over).worker()
    worker.signal(signal.SIGTERM)
    assert worker.exit_code() == 0
