"""The client (ASAP guide, 6.4), over a transport that answers as it is told."""

from __future__ import annotations

import asyncio
import json
import random

import httpx
import pytest

from schemas.asap import Envelope
from streams import ASAPClient, ASAPConnectionError, ASAPRemoteError, ASAPTimeoutError
from tests.unit.asap.peer import Peer, failure, send, success
from tests.unit.asap.support import BASE, PAYLOADS, Json, envelope


@pytest.mark.parametrize("url", ["", "agent", "/asap", "http://", "://x", "agent.test:80/x"])
def test_an_address_has_a_host(url: str) -> None:
    with pytest.raises(ValueError, match="Invalid base_url format"):
        ASAPClient(url)


@pytest.mark.parametrize("url", ["ftp://agent.test", "ws://agent.test", "file://host/x"])
def test_an_address_is_of_http(url: str) -> None:
    with pytest.raises(ValueError, match="Invalid URL scheme"):
        ASAPClient(url)


def test_attributes() -> None:
    client = ASAPClient("https://agent.test/base/")
    assert (client.base_url, client.timeout) == ("https://agent.test/base", 60.0)
    assert not client.is_connected


def test_a_client_is_open_inside_its_context() -> None:
    peer = Peer(success())
    client = peer.client()

    async def story() -> None:
        with pytest.raises(ASAPConnectionError, match=r"not connected.*async with"):
            await client.send(envelope())
        opened = []
        for _ in range(2):
            async with client as entered:
                assert entered is client
                opened.append(client.is_connected)
                await client.send(envelope())
            opened.append(client.is_connected)
        assert opened == [True, False] * 2
        async with client:
            with pytest.raises(RuntimeError, match="open already"):
                await client.__aenter__()

    asyncio.run(story())
    assert len(peer.requests) == 2


def test_what_goes_over_the_wire() -> None:
    peer, of = Peer(success()), envelope("task.request", payload=PAYLOADS["TaskRequest"])

    async def story() -> None:
        async with ASAPClient(BASE + "/", transport=peer.transport, token="secret") as client:
            await client.send(of)
            await client.send(of)

    asyncio.run(story())
    first, second = peer.bodies
    assert [str(request.url) for request in peer.requests] == [f"{BASE}/asap"] * 2
    assert (first["jsonrpc"], first["method"], first["id"]) == ("2.0", "asap.send", "req-1")
    assert second["id"] == "req-2"
    assert set(first) == {"jsonrpc", "method", "params", "id"}
    assert first["params"]["envelope"] == of.model_dump(mode="json")
    keys = [body["params"]["idempotency_key"] for body in peer.bodies]
    assert len(set(keys)) == 2
    assert [request.headers["X-Idempotency-Key"] for request in peer.requests] == keys
    assert all(len(key) == 26 for key in keys)
    assert peer.requests[0].headers["Content-Type"] == "application/json"
    assert peer.requests[0].headers["Authorization"] == "Bearer secret"
    assert "Prefer" not in peer.requests[0].headers


@pytest.mark.parametrize("bad", [httpx.Response(503), httpx.ConnectError("refused")])
def test_what_may_come_back_is_tried_again(bad: object, pauses: list[float]) -> None:
    peer = Peer(bad, bad, success())
    assert send(peer.client()).payload["status"] == "completed"
    assert len(peer.requests) == 3
    assert peer.bodies[0] == peer.bodies[1] == peer.bodies[2], "the same key, the same id"
    assert 0.1 <= pauses[0] <= 0.11
    assert 0.2 <= pauses[1] <= 0.22


def test_pauses_double_up_to_a_bound(pauses: list[float]) -> None:
    peer = Peer(httpx.Response(500))
    client = peer.client(
        max_retries=6, retry_base_delay=1.0, retry_max_delay=5.0, rng=random.Random(7)
    )
    with pytest.raises(ASAPConnectionError, match="500"):
        send(client)
    assert len(peer.requests) == 6
    again = random.Random(7)
    assert pauses == [d * (1 + again.uniform(0, 0.1)) for d in (1.0, 2.0, 4.0, 5.0, 5.0)]


@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_attempts_in_all(attempts: int, pauses: list[float]) -> None:
    peer = Peer(httpx.ConnectError("nobody listens"))
    with pytest.raises(ASAPConnectionError, match="connection") as caught:
        send(peer.client(max_retries=attempts))
    assert len(peer.requests) == attempts
    assert isinstance(caught.value.cause, httpx.ConnectError)
    assert "nobody listens" in str(caught.value)


@pytest.mark.parametrize("status", [400, 401, 404, 413, 429, 302])
def test_other_statuses_are_final(status: int, pauses: list[float]) -> None:
    peer = Peer(httpx.Response(status))
    with pytest.raises(ASAPConnectionError, match=str(status)):
        send(peer.client())
    assert (len(peer.requests), pauses) == (1, [])


@pytest.mark.parametrize("kind", [httpx.ReadTimeout, httpx.ConnectTimeout, httpx.PoolTimeout])
def test_a_timeout_is_final(kind: type[httpx.TimeoutException], pauses: list[float]) -> None:
    peer = Peer(kind("slow"))
    with pytest.raises(ASAPTimeoutError, match="timeout") as caught:
        send(peer.client(timeout=2.5))
    assert (caught.value.timeout, len(peer.requests), pauses) == (2.5, 1, [])


def test_anything_else_is_a_lost_connection(pauses: list[float]) -> None:
    peer = Peer(httpx.ReadError("cut off"))
    with pytest.raises(ASAPConnectionError, match="cut off") as caught:
        send(peer.client())
    assert isinstance(caught.value.cause, httpx.ReadError)
    assert len(peer.requests) == 1


@pytest.mark.parametrize("text", ["", "nonsense", "{", "\N{SNOWMAN}"])
def test_an_answer_that_is_no_json(text: str) -> None:
    with pytest.raises(ASAPRemoteError) as caught:
        send(Peer(httpx.Response(200, text=text)).client())
    assert caught.value.code == -32700


@pytest.mark.parametrize(
    "body",
    [{}, [], "x", None, {"result": {}}, {"result": None}, {"result": {"envelope": None}}],
)
def test_an_answer_without_an_envelope(body: object) -> None:
    with pytest.raises(ASAPRemoteError, match="Missing envelope") as caught:
        send(Peer(httpx.Response(200, text=json.dumps(body))).client())
    assert caught.value.code == -32603


def test_an_envelope_that_is_none() -> None:
    with pytest.raises(ASAPConnectionError) as caught:
        send(Peer(httpx.Response(200, json={"result": {"envelope": {"id": "x"}}})).client())
    assert isinstance(caught.value.cause, ValueError)


@pytest.mark.parametrize("data", [None, {"asap_error": "asap:x/y", "correlation_id": "c"}])
def test_an_error_comes_as_it_is(data: Json | None) -> None:
    with pytest.raises(ASAPRemoteError) as caught:
        send(Peer(failure(-32602, "Invalid params", data)).client())
    error = caught.value
    assert (error.code, error.message, error.data) == (-32602, "Invalid params", data)
    assert "-32602" in str(error)
    assert "Invalid params" in str(error)


@pytest.mark.parametrize("error", ["x", {}, {"code": "x"}, [1]])
def test_an_error_that_is_none(error: object) -> None:
    with pytest.raises(ASAPRemoteError) as caught:
        send(Peer(httpx.Response(200, json={"error": error})).client())
    assert (caught.value.code, caught.value.message) == (-32603, "Unknown error")


UNKNOWN = failure(-32601, "Method not found", {"payload_type": "TaskRequest"})


def test_a_peer_of_old_is_asked_again_in_its_spelling() -> None:
    peer = Peer(UNKNOWN, success(payload_type="task.response", payload=PAYLOADS["TaskResponse"]))
    reply_envelope = send(peer.client())
    assert reply_envelope.canonical_type == "TaskResponse"
    first, second = (body["params"] for body in peer.bodies)
    assert first["idempotency_key"] == second["idempotency_key"]
    assert second["envelope"] == {**first["envelope"], "payload_type": "task.request"}


@pytest.mark.parametrize(
    ("of", "answer"),
    [
        (envelope("task.request", payload=PAYLOADS["TaskRequest"]), UNKNOWN),
        (envelope("acme.ping"), failure(-32601, "no", {"payload_type": "acme.ping"})),
        (envelope(), failure(-32601, "no", {"method": "asap.send"})),
        (envelope(), failure(-32601, "no", {"type": "HandlerNotFoundError", "details": {}})),
        (envelope(), failure(-32602, "no", {"payload_type": "TaskRequest"})),
    ],
)
def test_other_refusals_are_final(of: Envelope, answer: httpx.Response) -> None:
    peer = Peer(answer)
    with pytest.raises(ASAPRemoteError):
        send(peer.client(), of)
    assert len(peer.requests) == 1


def test_the_second_refusal_is_final() -> None:
    peer = Peer(UNKNOWN)
    with pytest.raises(ASAPRemoteError, match="-32601"):
        send(peer.client())
    assert len(peer.requests) == 2


def test_send_does_not_ask_what_is_answered() -> None:
    assert send(Peer(success(correlation_id="other")).client()).correlation_id == "other"
