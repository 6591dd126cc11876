"""Gateways are killed under A2A clients, which go on at another one."""

from __future__ import annotations

import asyncio
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.client import create_client
from a2a.client.client import ClientCallContext
from a2a.client.errors import A2AClientError
from a2a.types import a2a_pb2
from google.protobuf.json_format import MessageToDict, ParseDict

from tests.integration.a2a_wire import A2aWire, WireEvent, message, register, reply, rules_of, steps
from tests.integration.system import Live, live
from tests.integration.test_mcp_crash import verify
from tests.processes import wait_for
from tests.unit.protocols.summit.queries.stage import AGENT, manifest, result

pytestmark = pytest.mark.slow
Json = dict[str, Any]
STEPS = 20
COMPLETED = "TASK_STATE_COMPLETED"
LOG = "urn:headrace:a2a:log:v1"


def test_gateway_killed_in_a_stream_leaves_no_gap(broker: str, tmp_path: Path) -> None:
    """Resume after the last event that came: none is missing, none comes twice."""
    seen: list[WireEvent] = []
    with live(broker, tmp_path) as system:
        register(system, manifest())
        with A2aWire(system.url, AGENT).stream(message("m-1")) as events:
            seen.append(next(events))
            task_id = seen[0].data["task"]["id"]
            reply(system, *steps(task_id, range(STEPS // 2)))
            with suppress(httpx.TransportError):
                for event in events:
                    seen.append(event)
                    if len(seen) == STEPS // 4:
                        system.gateway.kill()
        system.start_gateway()
        reply(system, *steps(task_id, range(STEPS // 2, STEPS)), result(task_id))
        with A2aWire(system.url, AGENT).subscribe(task_id, seen[-1].id) as events:
            assert next(events).id == seen[-1].id
            seen += events
        ids = [event.id for event in seen]
        last = STEPS + 2
        assert ids == [*(str(number) for number in range(1, last)), f"{last}a", str(last)]
        assert seen[-1].data["statusUpdate"]["status"]["state"] == COMPLETED
        verify(system, tmp_path)


def event_id(event: a2a_pb2.StreamResponse) -> str:
    (body,) = MessageToDict(event).values()
    return str(body["metadata"][LOG]["id"])


def test_official_client_resumes_at_another_gateway(broker: str, tmp_path: Path) -> None:
    """Name the last event that came before the gateway was killed, and get all others once."""
    ids: list[str] = []
    with live(broker, tmp_path) as system:
        register(system, manifest())

        async def follow_until_killed() -> str:
            task_id = ""
            request = ParseDict(message("m-1"), a2a_pb2.SendMessageRequest())
            async with await create_client(f"{system.url}/a2a/{AGENT}") as client:
                with suppress(A2AClientError, httpx.TransportError):
                    async for event in client.send_message(request):
                        ids.append(event_id(event))
                        if event.HasField("task"):
                            task_id = event.task.id
                            await asyncio.to_thread(reply, system, *steps(task_id, range(2)))
                        else:
                            system.gateway.kill()
            return task_id

        async def resume(task_id: str) -> list[str]:
            request = a2a_pb2.SubscribeToTaskRequest(id=task_id)
            last = ClientCallContext(service_parameters={"Last-Event-ID": ids[-1]})
            async with await create_client(f"{system.url}/a2a/{AGENT}") as client:
                return [event_id(event) async for event in client.subscribe(request, context=last)]

        task_id = asyncio.run(follow_until_killed())
        system.start_gateway()
        reply(system, result(task_id))
        repeated, *others = asyncio.run(resume(task_id))
        assert repeated == ids[-1]
        assert [*ids, *others] == ["1", "2", "3", "4a", "4"]
        verify(system, tmp_path)


def test_send_that_is_cut_off_is_sent_again(broker: str, tmp_path: Path) -> None:
    """Answer the same message with the same task, which has run once."""
    with live(broker, tmp_path) as system, ThreadPoolExecutor(1) as pool:
        register(system, manifest())
        wire = A2aWire(system.url, AGENT)
        task_id = wire.send(message("m-1"), 0)["id"]
        waiting = pool.submit(wire.send, message("m-1"), 60)
        wait_for(lambda: "call.duplicate" in rules_of(system, task_id), "both are decided")
        system.gateway.kill()
        with pytest.raises(httpx.TransportError):
            waiting.result()
        system.start_gateway()
        reply(system, result(task_id))
        task = A2aWire(system.url, AGENT).send(message("m-1"), 60)
        assert (task["id"], task["status"]["state"]) == (task_id, COMPLETED)
        rules = rules_of(system, task_id)
        assert rules == ["call.accepted", "call.duplicate", "call.duplicate", "reply.result"]
        verify(system, tmp_path)


def test_copies_at_two_gateways_run_once(broker: str, tmp_path: Path) -> None:
    """Send each message to two gateways at the same time, and run it once."""
    names = [f"m-{uuid.uuid4().hex[:8]}" for _ in range(20)]
    with live(broker, tmp_path) as system, ThreadPoolExecutor(8) as pool:
        register(system, manifest())
        first = A2aWire(system.url, AGENT)
        other = system.process("other", "streams.cli", "gateway", "--listen", "127.0.0.1:0")
        other.wait_text("gateway http")
        (line,) = [each for each in other.text().splitlines() if each.startswith("gateway http")]
        second = A2aWire(line.split()[1], AGENT)
        sent = [
            (pool.submit(first.send, message(name), 0), pool.submit(second.send, message(name), 0))
            for name in names
        ]
        for one, copy in sent:
            task_id = one.result()["id"]
            assert copy.result()["id"] == task_id
            has_both = partial(_has_rules, system, task_id, "call.accepted", "call.duplicate")
            wait_for(has_both, "both verdicts are seen by the first gateway")
        verify(system, tmp_path)


def _has_rules(system: Live, task_id: str, *rules: str) -> bool:
    return rules_of(system, task_id) == [*rules]
