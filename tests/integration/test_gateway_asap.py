"""ASAP's routes over HTTP: a real gateway, worker and Kafka."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from streams import Client, errors
from tests.integration.system import Live
from tests.integration.test_gateway import got
from tests.integration.test_gateway_sap import run
from tests.unit.protocols.asap.queries.stage import (
    INDEXER,
    PLANNER,
    manifest,
    message,
    request,
    response,
    text,
    update,
)

pytestmark = pytest.mark.slow

ENVELOPES, TASKS = "/v1/asap/envelopes", "/v1/asap/tasks"
READS = 60
Json = dict[str, Any]


@pytest.fixture
def http(system: Live) -> Iterator[httpx.Client]:
    with system.client as client:
        yield client


def sent(http: httpx.Client, *envelopes: Json) -> list[Json]:
    """What the gateway says of each."""
    answer = http.post(ENVELOPES, json=list(envelopes))
    assert answer.status_code == 202, answer.text
    positions: list[Json] = answer.json()["positions"]
    return positions


def fresh() -> str:
    return f"t-{uuid.uuid4().hex[:12]}"


def test_a_task_is_followed_to_its_end(http: httpx.Client) -> None:
    task = fresh()
    envelopes = (
        request(task),
        update(f"{task}-1", task=task, task_id="job-5", save={"page": 17}),
        message(f"{task}-2", [text("go on")], task=task),
        response(f"{task}-3", task=task),
    )
    positions = sent(http, *envelopes)
    assert [each["id"] for each in positions] == [each["id"] for each in envelopes]
    assert {each["key"] for each in positions} == {task}
    body = got(http, f"{TASKS}/{task}", after=positions[-1]["position"])
    assert (body["task"]["status"], body["aliases"], body["sequence"]) == (
        "completed",
        ["job-5"],
        4,
    )
    events = got(http, f"{TASKS}/{task}/events")["events"]
    assert {event["trace_id"] for event in events} == {"tr-19"}
    assert [event["envelope"]["correlation_id"] for event in events] == [None, task, None, task]
    assert got(http, f"{TASKS}/{task}/snapshots/latest")["data"] == {"page": 17}
    assert got(http, f"{TASKS}/{task}/messages")["messages"][0]["parts"] == [text("go on")]


def test_tasks_in_a_row_are_read_back(http: httpx.Client) -> None:
    for _ in range(READS):
        task = fresh()
        (entry,) = sent(http, request(task))
        body = got(http, f"{TASKS}/{task}", after=entry["position"])
        assert (body["task"]["id"], body["task"]["status"]) == (task, "submitted")


def test_requests_that_wait_for_others_are_read_back(http: httpx.Client) -> None:
    """Depths and idempotency keys are asked of other partitions; later records do not wait."""
    (root,) = sent(http, request(fresh()))
    for number in range(READS // 2):
        task, once = fresh(), {"idempotency_key": fresh()}
        waiting = request(task, parent_task_id=root["id"], config=once)
        entry, *_ = sent(http, waiting, *[request(fresh()) for _ in range(8)])
        body = got(http, f"{TASKS}/{task}", after=entry["position"])
        assert (body["task"]["id"], body["depth"]) == (task, 1), number
        (again,) = sent(http, request(f"{task}-2", parent_task_id=root["id"], config=once))
        body = got(http, f"{TASKS}/{task}-2", after=again["position"])
        assert body["task"]["id"] == task


def test_the_gateway_makes_what_is_missing(http: httpx.Client) -> None:
    bare = {name: value for name, value in request().items() if name not in ("id", "timestamp")}
    (entry,) = sent(http, {**bare, "payload_type": "task.request"})
    assert (len(entry["id"]), entry["key"]) == (26, entry["id"])
    body = got(http, f"{TASKS}/{entry['id']}/events", after=entry["position"])
    assert body["events"][0]["envelope"]["payload_type"] == "TaskRequest"


def test_none_is_sent_when_one_is_invalid(http: httpx.Client) -> None:
    task = fresh()
    bad = [{**request(), "sender": "x"}, {**request(), "asap_version": "0.2"}]
    answer = http.post(ENVELOPES, json=[request(task), *bad])
    assert answer.status_code == 422
    problems = [(error["index"], error["rule"]) for error in answer.json()["errors"]]
    assert problems == [(1, "bad_urn"), (2, "version_mismatch")]
    (entry,) = sent(http, request())
    assert http.get(f"{TASKS}/{task}", params={"after": entry["position"]}).status_code == 404


def test_an_agent_comes_and_goes(http: httpx.Client) -> None:
    urn = f"urn:asap:agent:{fresh()}"
    path = f"/v1/asap/agents/{urn}"
    put = http.put(path, json=manifest(urn))
    assert put.status_code == 202, put.text
    assert got(http, path, after=put.json()["position"])["id"] == urn
    wrong = http.put(path, json=manifest(PLANNER))
    assert (wrong.status_code, wrong.json()["rule"]) == (422, "bad_manifest")
    assert http.put(path, content=b"{").status_code == 422
    gone = http.delete(path)
    assert gone.status_code == 202
    answer = http.get(path, params={"after": gone.json()["position"]})
    assert (answer.status_code, answer.json()["rule"]) == (404, "agent_not_found")


def test_states_that_are_none_have_their_status(http: httpx.Client) -> None:
    task = fresh()
    (entry,) = sent(http, request(task))
    answer = http.get(f"{TASKS}/{task}", params={"at": 1, "after": entry["position"]})
    assert (answer.status_code, answer.json()["rule"]) == (409, "state_mode_conflict")
    assert http.get(f"{TASKS}/{task}/snapshots/1").json()["rule"] == "snapshot_not_found"


@pytest.mark.parametrize("way", ["kafka", "http"])
def test_the_client_sends_and_asks(system: Live, tmp_path: Path, way: str) -> None:
    task = fresh()
    settings = replace(system.settings, state_dir=tmp_path)
    client = Client(system.url) if way == "http" else Client(settings=settings)

    async def story() -> None:
        async with client as hr:
            first, last = await hr.send(
                "asap.envelopes", [request(task), response(f"{task}-1", task=task)]
            )
            assert first != last
            body = await hr.query(f"/v1/asap/tasks/{task}", after=last)
            assert body["task"]["status"] == "completed"
            with pytest.raises(errors.InvalidInput, match="bad_urn"):
                await hr.send("asap.envelopes", {**request(), "sender": "x"})
            with pytest.raises(errors.NotFound) as missing:
                await hr.query("/v1/asap/tasks/nothing")
            assert missing.value.rule == "task_not_found"
            with pytest.raises(errors.Conflict) as conflict:
                await hr.query(f"/v1/asap/tasks/{task}", at=1)
            assert conflict.value.rule == "state_mode_conflict"

    asyncio.run(story())


def test_the_commands_say_the_same(system: Live, http: httpx.Client) -> None:
    task = fresh()
    positions = sent(http, request(task), response(f"{task}-1", task=task))
    code, out = run(system, "asap", "task", task, "--json", "--after", positions[-1]["position"])
    body = json.loads(out)
    assert (code, body["task"]["status"]) == (0, "completed")
    assert body == got(http, f"{TASKS}/{task}")
    of_worker = ("--worker", INDEXER, "--status", "completed")
    code, out = run(system, "asap", "tasks", *of_worker, "--json")
    assert (code, task in [each["task"]["id"] for each in json.loads(out)["tasks"]]) == (0, True)
