"""Agent2Agent over a real gateway, worker and Kafka, with the official client."""

from __future__ import annotations

import asyncio
import uuid

import pytest
from a2a.client import ClientConfig, create_client
from a2a.types import a2a_pb2

from tests.integration.a2a_wire import register, reply
from tests.integration.system import Live
from tests.processes import wait_for
from tests.unit.protocols.summit.queries.stage import manifest, progress, result


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
def test_client_follows_a_task(system: Live, binding: str) -> None:
    """Send a message, follow its task while the agent replies, and read it."""
    agent_id = f"a-{uuid.uuid4().hex[:8]}"
    register(system, manifest(agent_id))
    parts = [a2a_pb2.Part(text="to be or not to be")]
    sent = a2a_pb2.Message(message_id="m-1", role=a2a_pb2.ROLE_USER, parts=parts)

    async def work() -> tuple[list[str], a2a_pb2.Task]:
        config = ClientConfig(supported_protocol_bindings=[binding])
        kinds, task_id = [], ""
        url = f"{system.url}/a2a/{agent_id}"
        async with await create_client(url, client_config=config) as client:
            async for event in client.send_message(a2a_pb2.SendMessageRequest(message=sent)):
                kinds.append(str(event.WhichOneof("payload")))
                if event.HasField("task"):
                    task_id = event.task.id
                    replies = progress(task_id, agent=agent_id), result(task_id, agent=agent_id)
                    await asyncio.to_thread(reply, system, *replies)
            return kinds, await client.get_task(a2a_pb2.GetTaskRequest(id=task_id))

    kinds, task = asyncio.run(work())
    assert kinds == ["task", "status_update", "artifact_update", "status_update"]
    assert task.status.state == a2a_pb2.TASK_STATE_COMPLETED


def test_service_lists_the_feature(system: Live) -> None:
    """Name A2A among the features, and the agents in the list of the door."""
    agent_id = f"a-{uuid.uuid4().hex[:8]}"
    register(system, manifest(agent_id))

    def is_listed() -> bool:
        with system.client as http:
            items = http.get("/v1/a2a/agents?limit=500").json()["items"]
        return agent_id in [each["agentId"] for each in items]

    wait_for(is_listed, "the agent is listed")
    with system.client as http:
        assert "a2a" in http.get("/v1/service").json()["features"]
