"""ASAP over HTTP with a real gateway, worker and Kafka: many at once, agents served, kills."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import httpx
import pytest

from schemas.asap import (
    Envelope,
    TaskRequest,
    TaskResponse,
    TaskStatus,
    TaskUpdate,
    generate_id,
    make_envelope,
    reply_to,
)
from streams import (
    ASAPClient,
    ASAPRemoteError,
    HandlerRegistry,
    StreamSnapshotStore,
    create_app,
    create_echo_handler,
    send_task_sync,
)
from streams.gateway.agent import agent_stream
from tests.integration.system import Live, live
from tests.integration.test_gateway import got
from tests.processes import wait_for
from tests.unit.asap.old_peer import read, request
from tests.unit.asap.served import served
from tests.unit.asap.snapshot_contract import SnapshotContract
from tests.unit.asap.support import AGENT, PLANNER, manifest

pytestmark = pytest.mark.slow

CLIENTS, EACH = 200, 20
TASKS, SAVES, SAVERS = 12, 25, 6


def task_for(recipient: str = AGENT) -> Envelope:
    payload = TaskRequest(conversation_id="c-1", skill_id="s", input={"n": 1})
    return make_envelope(payload, sender=PLANNER, recipient=recipient, trace_id=generate_id())


def test_many_clients_many_requests(system: Live) -> None:
    """No reply is lost and none is another's."""

    async def client() -> set[str]:
        seen = set()
        async with ASAPClient(system.url) as http:
            for _ in range(EACH):
                of = task_for()
                reply = await http.send(of)
                payload = reply.typed_payload()
                assert isinstance(payload, TaskUpdate)
                assert (reply.correlation_id, reply.trace_id) == (of.id, of.trace_id)
                assert (payload.task_id, payload.status) == (of.id, TaskStatus.SUBMITTED)
                seen.add(reply.id)
        return seen

    async def all_at_once() -> list[set[str]]:
        return await asyncio.gather(*(client() for _ in range(CLIENTS)))

    replies = asyncio.run(all_at_once())
    assert len(set().union(*replies)) == CLIENTS * EACH
    with system.client as http:
        text = http.get("/asap/metrics").text
    line = 'asap_requests_success_total{payload_type="TaskRequest"} '
    (count,) = (sample.split()[-1] for sample in text.splitlines() if sample.startswith(line))
    assert float(count) == CLIENTS * EACH


def test_an_answer_is_never_ahead_of_its_task(system: Live) -> None:
    """Who was told a status finds the task in it, by the position of the answer."""
    with system.client as http:
        for _ in range(30):
            of = task_for()
            body = {"envelope": of.model_dump(mode="json")}
            call = {"jsonrpc": "2.0", "method": "asap.send", "params": body, "id": 1}
            result = http.post("/asap", json=call).json()["result"]
            row = got(http, f"/v1/asap/tasks/{of.id}", after=result["position"])
            assert row["task"]["status"] == "submitted"


def test_a_request_without_a_loop_waits_for_its_response(system: Live) -> None:
    of = task_for()

    def answer() -> None:
        done = TaskResponse(task_id=of.id, status=TaskStatus.COMPLETED, result={"n": 2})
        with system.client as http:
            wait_for(lambda: http.get(f"/v1/asap/tasks/{of.id}").status_code == 200, "it is there")
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, _send(system.url, reply_to(of, done))).result()

    worker = threading.Thread(target=answer)
    worker.start()
    task_response = send_task_sync(ASAPClient(system.url), of, wait=30)
    worker.join()
    assert isinstance(task_response, TaskResponse)
    assert task_response.result == {"n": 2}


async def _send(url: str, of: Envelope) -> Envelope:
    async with ASAPClient(url) as client:
        return await client.send(of)


def test_refusals_are_told(system: Live) -> None:
    of = make_envelope(
        TaskResponse(task_id="nobody-s", status=TaskStatus.COMPLETED),
        sender=AGENT,
        recipient=PLANNER,
        correlation_id="nobody-s",
    )
    with pytest.raises(ASAPRemoteError) as caught:
        asyncio.run(_send(system.url, of))
    assert (caught.value.code, caught.value.asap_error) == (-32602, "asap:task/not_found")
    assert caught.value.data["correlation_id"] == "nobody-s"


def test_an_old_client_is_served(system: Live) -> None:
    with system.client as http:
        of = request(AGENT, PLANNER, generate_id())
        answer = http.post("/asap", json=of).json()
    envelope, payload = read(answer["result"]["envelope"])
    assert envelope.correlation_id == of["params"]["envelope"]["id"]
    assert payload.model_dump()["status"] == "submitted"


def test_an_agent_is_served_on_the_log(system: Live, tmp_path: Path) -> None:
    """Its own server, whose handler answers what the log has accepted."""
    registry = HandlerRegistry()
    registry.register("TaskRequest", create_echo_handler())
    settings = replace(system.settings, state_dir=tmp_path)
    with agent_stream(settings) as stream:
        app = create_app(manifest(), registry, stream=stream)
        with served(app) as url:
            of = task_for()
            task_response = send_task_sync(ASAPClient(url), of)
    assert isinstance(task_response, TaskResponse)
    assert task_response.result == {"echoed": {"n": 1}}
    with system.client as http:
        task = got(http, f"/v1/asap/tasks/{of.id}")
    assert (task["task"]["status"], task["aliases"]) == ("completed", [task_response.task_id])
    assert task["response"]["correlation_id"] == of.id


@pytest.fixture
def store(system: Live) -> Iterator[StreamSnapshotStore]:
    with StreamSnapshotStore(system.url, AGENT) as snapshot_store:
        yield snapshot_store


def new_task(system: Live) -> str:
    of = task_for()
    asyncio.run(_send(system.url, of))
    return of.id


@pytest.fixture
def tasks(system: Live) -> Iterator[str]:
    return iter(lambda: new_task(system), None)


class TestSnapshotsOnKafka(SnapshotContract):
    pass


def test_versions_have_no_gap_and_no_double_under_kills(broker: str, tmp_path: Path) -> None:
    """A worker dies twice in mid-run, with saves on their way that nobody has decided."""
    with live(broker, tmp_path, ASAP_VERDICT_TIMEOUT_MS="40000") as system:
        ids = [new_task(system) for _ in range(TASKS)]
        saves: list[tuple[str, int, int]] = []
        with ThreadPoolExecutor(SAVERS) as pool:
            saving = [
                pool.submit(_save_all, system.url, ids[n::SAVERS], saves) for n in range(SAVERS)
            ]
            for enough in (60, 180):
                wait_for(partial(_has, saves, enough), "saves go on")
                system.worker.kill()
                system.restart_worker()
            for each in saving:
                each.result()
        assert len(saves) == TASKS * SAVES
        with StreamSnapshotStore(system.url, AGENT) as store:
            for task in ids:
                assert store.list_versions(task) == list(range(1, SAVES + 1))
                expected = {version: save for of, version, save in saves if of == task}
                stored = {version: store.get(task, version) for version in expected}
                assert {n: each and each.data["save"] for n, each in stored.items()} == expected


def _has(saves: list[tuple[str, int, int]], enough: int) -> bool:
    return len(saves) > enough


def _save_all(url: str, tasks: list[str], saves: list[tuple[str, int, int]]) -> None:
    """saves: each task, version and number of a save, in the order in which they were told."""
    with StreamSnapshotStore(url, AGENT) as store:
        for number in range(SAVES):
            for task in tasks:
                made = store.create_snapshot(task, {"save": number})
                saves.append((task, made.version, number))


def test_the_gateway_is_the_service_s_server(system: Live) -> None:
    with httpx.Client(base_url=system.url) as http:
        manifest = http.get("/.well-known/asap/manifest.json").json()
    assert manifest["id"] == "urn:asap:agent:headrace"
