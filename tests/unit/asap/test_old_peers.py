"""headrace and deployed 0.1 peers understand each other (ASAP guide, 2.4, 2.1)."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest
from pydantic import ValidationError

from schemas.asap import (
    Envelope,
    TaskRequest,
    TaskResponse,
    TaskStatus,
    TaskUpdate,
    UpdateType,
    generate_id,
    make_envelope,
)
from streams import ASAPClient, ASAPRemoteError, create_app
from tests.unit.asap.old_peer import OldServer, read, request
from tests.unit.asap.support import AGENT, BASE, PAYLOADS, PLANNER, manifest, post

REQUEST = TaskRequest.model_validate(PAYLOADS["TaskRequest"])


def send(server: OldServer, of: Envelope) -> TaskResponse | TaskUpdate:
    async def once() -> TaskResponse | TaskUpdate:
        async with ASAPClient(BASE, transport=httpx.ASGITransport(server)) as client:
            return await client.send_task(of)

    return asyncio.run(once())


def envelope(payload_type: str = "TaskRequest") -> Envelope:
    made = make_envelope(REQUEST, sender=PLANNER, recipient=AGENT, trace_id="tr-19")
    return made.model_copy(update={"payload_type": payload_type})


def test_an_old_server_is_met_in_its_spelling() -> None:
    server = OldServer(AGENT)
    response = send(server, envelope())
    assert isinstance(response, TaskResponse)
    assert response.result == {"echoed": {"pages": 42}}
    assert server.seen == ["TaskRequest", "task.request"]
    assert len(set(server.keys)) == 1


def test_who_knows_writes_the_old_spelling_at_once() -> None:
    server = OldServer(AGENT)
    send(server, envelope("task.request"))
    assert server.seen == ["task.request"]


def test_what_an_old_server_has_no_handler_for() -> None:
    with pytest.raises(ASAPRemoteError, match="-32601"):
        send(OldServer(AGENT), envelope("acme.ping"))


def test_an_old_client_understands_the_server() -> None:
    of = request(AGENT, PLANNER, generate_id())
    answer = post(create_app(manifest()), of)
    reply_envelope, payload = read(answer["result"]["envelope"])
    assert (reply_envelope.payload_type, reply_envelope.correlation_id) == (
        "task.response",
        of["params"]["envelope"]["id"],
    )
    assert payload.model_dump()["result"] == {"echoed": {"pages": 42}}


@pytest.mark.parametrize("status", list(TaskStatus))
@pytest.mark.parametrize("kind", ["response", "update"])
def test_six_of_the_states_are_known_to_old_peers(status: TaskStatus, kind: str) -> None:
    """Whether it goes through is what the documentation warns of."""
    payload = (
        TaskResponse(task_id="t", status=status)
        if kind == "response"
        else TaskUpdate(task_id="t", update_type=UpdateType.STATUS_CHANGE, status=status)
    )
    made = make_envelope(payload, sender=AGENT, recipient=PLANNER, correlation_id="e-1")
    wire = json.loads(made.model_dump_json())
    if status in (TaskStatus.PAUSED, TaskStatus.REJECTED):
        with pytest.raises(ValidationError):
            read(wire, f"task.{kind}")
    else:
        assert read(wire, f"task.{kind}")
