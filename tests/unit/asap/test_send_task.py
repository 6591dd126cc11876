"""`send_task`, with a loop and without one (ASAP guide, 6.4)."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from schemas.asap import Envelope, TaskRequest, TaskResponse, TaskUpdate
from streams import (
    ASAPClient,
    ASAPConnectionError,
    ASAPRemoteError,
    HandlerRegistry,
    create_app,
    send_task,
    send_task_sync,
)
from tests.unit.asap.peer import Answer, Peer, reply, success
from tests.unit.asap.support import AGENT, BASE, PAYLOADS, PLANNER, envelope, manifest

REQUEST = TaskRequest.model_validate(PAYLOADS["TaskRequest"])


def ask(client: ASAPClient, request: TaskRequest | Envelope = REQUEST, **more: Any) -> Any:
    async def once() -> Any:
        async with client:
            return await client.send_task(request, **more)

    return asyncio.run(once())


def published(id: str = AGENT) -> httpx.Response:
    return httpx.Response(200, json=manifest(id=id).model_dump(mode="json"))


def test_a_task_goes_to_whose_server_it_is() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return published() if request.method == "GET" else success()(request)

    peer = Peer(answer)

    async def story() -> None:
        async with peer.client(sender=PLANNER) as client:
            outcome = await client.send_task(REQUEST, trace_id="tr-1", extensions={"acme.x": 1})
            assert isinstance(outcome, TaskResponse)
            await send_task(client, REQUEST)

    asyncio.run(story())
    assert [request.method for request in peer.requests] == ["GET", "POST", "POST"]
    assert str(peer.requests[0].url) == f"{BASE}/.well-known/asap/manifest.json"
    sent = peer.bodies[0]["params"]["envelope"]
    assert (sent["sender"], sent["recipient"], sent["trace_id"]) == (PLANNER, AGENT, "tr-1")
    assert (sent["payload_type"], sent["extensions"]) == ("TaskRequest", {"acme.x": 1})
    assert sent["payload"] == {**PAYLOADS["TaskRequest"], "parent_task_id": None, "config": None}


def test_the_manifest_is_asked_for_once() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return published() if request.method == "GET" else success()(request)

    peer = Peer(answer)

    async def story() -> None:
        async with peer.client() as client:
            await asyncio.gather(*(client.send_task(REQUEST) for _ in range(5)))

    asyncio.run(story())
    assert [request.method for request in peer.requests].count("GET") == 1


def test_a_task_for_somebody_from_somebody() -> None:
    peer = Peer(success(payload_type="TaskUpdate"))
    outcome = ask(peer.client(), recipient="urn:asap:agent:a", sender="urn:asap:agent:b")
    assert isinstance(outcome, TaskUpdate)
    sent = peer.bodies[0]["params"]["envelope"]
    assert (sent["recipient"], sent["sender"]) == ("urn:asap:agent:a", "urn:asap:agent:b")


def test_nobody_in_particular_sends() -> None:
    peer = Peer(success())
    ask(peer.client(), recipient=AGENT)
    assert peer.bodies[0]["params"]["envelope"]["sender"] == "urn:asap:agent:client"


def test_a_ready_envelope_goes_as_it_is() -> None:
    peer, of = Peer(success()), envelope()
    ask(peer.client(), of, recipient="urn:asap:agent:other", trace_id="x")
    assert peer.bodies[0]["params"]["envelope"] == of.model_dump(mode="json")


@pytest.mark.parametrize(("wait", "timeout"), [(None, 60.0), (30, 60.0), (55, 60.0), (90, 95.0)])
def test_a_wait_extends_the_timeout(wait: int | None, timeout: float) -> None:
    peer = Peer(success())
    ask(peer.client(), recipient=AGENT, wait=wait)
    (request,) = peer.requests
    assert request.headers.get("Prefer") == (None if wait is None else f"wait={wait}")
    assert request.extensions["timeout"]["read"] == timeout


def test_an_answer_to_another_envelope() -> None:
    with pytest.raises(ASAPRemoteError, match="Correlation mismatch") as caught:
        ask(Peer(success(correlation_id="other")).client(), recipient=AGENT)
    assert caught.value.code == -32603


def with_verdict(verdict: str) -> Answer:
    def answer(request: httpx.Request) -> httpx.Response:
        result = {"envelope": reply(request, correlation_id="older"), "verdict": verdict}
        return httpx.Response(200, json={"jsonrpc": "2.0", "result": result, "id": "req-1"})

    return answer


def test_a_duplicate_may_be_answered_by_an_older_task() -> None:
    outcome = ask(Peer(with_verdict("duplicate")).client(), recipient=AGENT)
    assert isinstance(outcome, TaskResponse)
    with pytest.raises(ASAPRemoteError, match="Correlation mismatch"):
        ask(Peer(with_verdict("accepted")).client(), recipient=AGENT)


def test_an_answer_that_is_neither() -> None:
    with pytest.raises(ASAPRemoteError, match="Unexpected payload type"):
        ask(Peer(success(payload_type="TaskCancel")).client(), recipient=AGENT)


@pytest.mark.parametrize("status", [404, 500])
def test_without_a_manifest_nobody_is_meant(status: int, pauses: list[float]) -> None:
    with pytest.raises(ASAPConnectionError, match=str(status)):
        ask(Peer(httpx.Response(status)).client())
    with pytest.raises(ASAPConnectionError, match="manifest"):
        ask(Peer(httpx.Response(200, json={"id": "x"})).client())


def echoing() -> ASAPClient:
    return ASAPClient(BASE, transport=httpx.ASGITransport(create_app(manifest())))


def test_a_task_without_a_loop() -> None:
    client = echoing()
    for _ in range(2):
        outcome = send_task_sync(client, REQUEST)
        assert isinstance(outcome, TaskResponse)
        assert outcome.result == {"echoed": {"pages": 42}}
    assert not client.is_connected


def test_a_client_serves_many_threads() -> None:
    client = echoing()

    def once(n: int) -> object:
        outcome = send_task_sync(
            client, TaskRequest(conversation_id="c", skill_id="s", input={"n": n})
        )
        return outcome.result if isinstance(outcome, TaskResponse) else outcome

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(once, range(40))) == [{"echoed": {"n": n}} for n in range(40)]
    assert not client.is_connected


def test_whose_server_it_is_is_asked_once_without_a_loop() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return published() if request.method == "GET" else success()(request)

    peer = Peer(answer)
    client = peer.client()
    for _ in range(2):
        send_task_sync(client, REQUEST)
    assert [request.method for request in peer.requests] == ["GET", "POST", "POST"]


def test_a_task_beside_a_loop() -> None:
    async def story() -> TaskResponse | TaskUpdate:
        return send_task_sync(echoing(), REQUEST, recipient=AGENT)

    assert isinstance(asyncio.run(story()), TaskResponse)


def test_a_client_that_is_open_belongs_to_its_loop() -> None:
    async def story() -> None:
        async with echoing() as client:
            with pytest.raises(RuntimeError, match="is open"):
                send_task_sync(client, REQUEST)

    asyncio.run(story())


def test_many_at_once_are_not_crossed() -> None:
    async def story() -> None:
        async with echoing() as client:
            requests = [
                TaskRequest(conversation_id="c", skill_id="s", input={"n": n}) for n in range(100)
            ]
            outcomes = await asyncio.gather(*(client.send_task(each) for each in requests))
            results = [each.result for each in outcomes if isinstance(each, TaskResponse)]
            assert results == [{"echoed": {"n": n}} for n in range(100)]

    asyncio.run(story())


def test_a_handler_that_fails_is_told() -> None:
    app = create_app(manifest(), HandlerRegistry())
    client = ASAPClient(BASE, transport=httpx.ASGITransport(app))
    with pytest.raises(ASAPRemoteError) as caught:
        ask(client)
    assert caught.value.code == -32601
    assert caught.value.asap_error == "asap:transport/handler_not_found"
