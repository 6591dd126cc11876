"""Webhooks: subscriptions to events, what receivers get, and what is refused."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from streams.access import Role
from streams.doors.mcp.signatures import sign
from streams.doors.push.cursors import read_cursor, write_cursor
from streams.doors.push.subscriptions import State, read_delivery, read_subscription
from streams.engine.records import Output
from tests.processes import wait_for
from tests.unit.doors.mcp.bench import URL, Json, McpBench, mcp_bench
from tests.unit.doors.mcp.test_events import ask
from tests.unit.doors.push.receivers import (
    HttpReceiver,
    Received,
    answer_challenges,
    receiving,
)
from tests.unit.envelopes import idea
from topology.core import PUSH_DELIVERIES, PUSH_SUBSCRIPTIONS

PUSH: Json = {"gateway_key": "k" * 32, "push_allow": "127.0.0.0/8"}
KEY, OTHER_KEY = b"s" * 32, b"t" * 24
SECRET, OTHER_SECRET = (f"whsec_{base64.b64encode(key).decode()}" for key in (KEY, OTHER_KEY))
FACTS: Json = {"topic": "apc.events"}
Work = Callable[[Client, HttpReceiver], Awaitable[None]]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[McpBench]:
    with mcp_bench(tmp_path, with_tokens=True, **PUSH) as each:
        yield each


def run(
    bench: McpBench, work: Work, token: str | None = None, receiver: Any = None
) -> list[Received]:
    """Let `work` use a client and a receiver, and return what was received.

    receiver: how it answers; by default well.
    """
    used = token or bench.new_token(Role.PRODUCER, Role.READER)

    async def serve(http: httpx2.AsyncClient) -> list[Received] | MCPError:
        transport = streamable_http_client(URL, http_client=http)
        async with receiving(receiver or answer_challenges) as hook, Client(transport) as client:
            try:
                await work(client, hook)
            except MCPError as exc:
                return exc
            return hook.requests

    answer = bench.serve(serve, used)
    if isinstance(answer, MCPError):
        raise answer
    return answer


async def subscribe(client: Client, url: str, **more: Any) -> Json:
    delivery = {"mode": "webhook", "url": url, "secret": more.pop("secret", SECRET)}
    params = {"name": "fact", "arguments": FACTS, "delivery": delivery, **more}
    return await ask(client, "events/subscribe", **params)


async def unsubscribe(client: Client, url: str) -> None:
    params = {"name": "fact", "arguments": FACTS, "delivery": {"url": url}}
    await ask(client, "events/unsubscribe", **params)


async def send(client: Client, *numbers: int) -> None:
    for number in numbers:
        packet = idea(number, trace__session_id=f"s-{number}", sender__agent_id="kim")
        result = await client.call_tool(
            "send", {"topic": "apc.packets", "envelope": packet, "wait_s": 50}
        )
        assert result.structured_content is not None
        assert result.structured_content["verdict"] == "accepted", result.structured_content


def is_signed(received: Received, key: bytes) -> bool:
    """Return whether a request is signed with a key, as Standard Webhooks has it."""
    headers = received.headers
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + received.body
    signature = base64.b64encode(hmac.new(key, signed, "sha256").digest()).decode()
    return f"v1,{signature}" in headers["webhook-signature"].split(" ")


def subscriptions_in(bench: McpBench) -> list[Any]:
    """Return the subscriptions that are on the log."""
    records = bench.bench.bench.records(PUSH_SUBSCRIPTIONS.name)
    return [read_subscription(each.value) for each in records if each.value is not None]


def deliveries_in(bench: McpBench) -> list[Any]:
    """Return the states of deliveries that are on the log."""
    records = bench.bench.bench.records(PUSH_DELIVERIES.name)
    return [read_delivery(each.value) for each in records if each.value is not None]


def test_events_are_posted_signed_in_order_after_a_challenge(bench: McpBench) -> None:
    async def work(client: Client, hook: HttpReceiver) -> None:
        answer = await subscribe(client, hook.url("/h?key=1"))
        assert answer["id"].startswith("sub_")
        assert (len(answer["id"]), answer["truncated"]) == (36, False)
        assert "deliveryStatus" not in answer
        await send(client, 1, 2, 3)
        await hook.wait_for(4)

    challenge, *events = run(bench, work)
    assert challenge.json["type"] == "verification"
    bodies = [each.json for each in events[:3]]
    assert [each["name"] for each in bodies] == ["fact"] * 3
    keys = [each["data"]["key"] for each in bodies]
    assert sorted(keys) == ["s-1", "s-2", "s-3"]
    for received, body in zip(events, bodies, strict=False):
        assert received.headers["webhook-id"] == body["eventId"] == body["data"]["position"]
        assert body["cursor"].startswith("c1.")
    for received in (challenge, *events):
        assert is_signed(received, KEY)
        assert received.path == "/h?key=1"
        assert received.headers["content-type"] == "application/json"
        assert received.headers["x-mcp-subscription-id"].startswith("sub_")
    assert 'headrace_push_deliveries_total{door="mcp",result="delivered"} 3.0' in bench.metrics


def test_the_next_gateway_goes_on_and_a_cursor_begins_in_the_past(bench: McpBench) -> None:
    begin: list[Json] = []

    async def first(client: Client, hook: HttpReceiver) -> None:
        begin.append(await ask(client, "events/poll", name="fact", arguments=FACTS))
        await send(client, 1, 2)
        await subscribe(client, hook.url(), cursor=begin[0]["cursor"])
        await hook.wait_for(3)

    ports: list[int] = []

    async def first_on_port(client: Client, hook: HttpReceiver) -> None:
        ports.append(hook.port)
        await first(client, hook)

    before = run(bench, first_on_port)[1:]
    wait_for(lambda: any(each and each.cursor for each in deliveries_in(bench)), "it is noted")
    subscription = subscriptions_in(bench)[-1]
    assert subscription is not None

    async def second(client: Client, hook: HttpReceiver) -> None:
        await send(client, 3)
        renamed = subscription._replace(url=hook.url())  # the next receiver has another port
        log = bench.bench.bench.log
        log.append([Output(PUSH_SUBSCRIPTIONS.name, renamed.id.encode(), renamed.encode())])
        await hook.wait_for(1)

    after = run(bench, second)
    ids = [each.json["eventId"] for each in (*before, *after)]
    keys = [each.json["data"]["key"] for each in (*before, *after)]
    assert list(dict.fromkeys(ids)) == sorted(set(ids), key=ids.index)
    assert set(keys) == {"s-1", "s-2", "s-3"}


def test_a_refresh_keeps_the_place_and_says_how_deliveries_are(bench: McpBench) -> None:
    async def work(client: Client, hook: HttpReceiver) -> None:
        first = await subscribe(client, hook.url(), ttlMs=90_000)
        await send(client, 1)
        await hook.wait_for(2)
        again = await subscribe(client, hook.url(), secret=OTHER_SECRET, ttlMs=120_000)
        assert again["id"] == first["id"]
        assert again["refreshBefore"] > first["refreshBefore"]
        status = again["deliveryStatus"]
        assert (status["active"], status["lastError"]) == (True, None)
        await send(client, 2)
        await hook.wait_for(3)

    requests = run(bench, work)
    assert len(requests) == 3, "an address that has answered is not challenged again"
    assert is_signed(requests[2], KEY)
    assert is_signed(requests[2], OTHER_KEY)
    assert not is_signed(requests[1], OTHER_KEY)


@pytest.mark.parametrize(
    ("ttl_ms", "seconds"), [(None, 3600), (1, 60), (120_000, 120), (9_999_999_999, 3600)]
)
def test_the_time_limit_is_bounded_and_never_missing(
    bench: McpBench, ttl_ms: int | None, seconds: int
) -> None:
    async def work(client: Client, hook: HttpReceiver) -> None:
        await subscribe(client, hook.url(), ttlMs=ttl_ms)

    run(bench, work)
    stored = subscriptions_in(bench)[-1]
    assert stored is not None
    assert stored.refresh_before is not None
    assert stored.refresh_before - stored.granted_at == seconds * 1000
    assert KEY not in stored.secret


def test_an_unsubscription_ends_it(bench: McpBench) -> None:
    async def work(client: Client, hook: HttpReceiver) -> None:
        await subscribe(client, hook.url())
        await unsubscribe(client, hook.url())
        await send(client, 1)
        with pytest.raises(MCPError) as caught:
            await unsubscribe(client, hook.url())
        assert (caught.value.code, caught.value.data["rule"]) == (-32011, "subscription_unknown")
        assert caught.value.data["kind"] == "subscription"

    assert len(run(bench, work)) == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda received: (200, b"{}"), "challenge_failed"),
        (lambda received: (200, b'{"challenge": "other"}'), "challenge_failed"),
        (lambda received: (204, b""), "challenge_failed"),
        (lambda received: (302, b""), "challenge_failed"),
        (lambda received: (404, b""), "http_4xx"),
        (lambda received: (500, b""), "http_5xx"),
    ],
)
def test_an_address_that_does_not_answer_the_challenge(
    bench: McpBench, answer: Any, reason: str
) -> None:
    async def work(client: Client, hook: HttpReceiver) -> None:
        await subscribe(client, hook.url())

    with pytest.raises(MCPError) as caught:
        run(bench, work, receiver=answer)
    assert (caught.value.code, caught.value.data["rule"]) == (-32015, "webhook_challenge")
    assert caught.value.data["reason"] == reason
    assert bench.bench.bench.records(PUSH_SUBSCRIPTIONS.name) == []


def test_an_address_where_nobody_listens(bench: McpBench) -> None:
    async def work(client: Client, hook: HttpReceiver) -> None:
        await subscribe(client, "http://127.0.0.1:9/")

    with pytest.raises(MCPError) as caught:
        run(bench, work)
    assert caught.value.data["reason"] == "connection_refused"


GOOD = {"mode": "webhook", "url": "https://127.0.0.1/", "secret": SECRET}


@pytest.mark.parametrize(
    ("more", "code", "rule"),
    [
        ({"name": "none"}, -32011, "event_unknown"),
        ({"arguments": {"topik": "x"}}, -32602, "event_arguments"),
        ({"name": "inbox", "arguments": {"protocol": "apc", "agent": "x"}}, -32012, None),
        ({"delivery": {**GOOD, "mode": "carrier"}}, -32014, "event_mode"),
        ({"delivery": {"mode": "webhook"}}, -32602, "webhook_url"),
        ({"delivery": {**GOOD, "url": "http://example.com/"}}, -32602, "webhook_url"),
        ({"delivery": {**GOOD, "url": "https://10.0.0.1/"}}, -32602, "webhook_url"),
        ({"delivery": {**GOOD, "secret": None}}, -32602, "webhook_secret"),
        ({"delivery": {**GOOD, "secret": "whsec_c2hvcnQ="}}, -32602, "webhook_secret"),
        ({"delivery": {**GOOD, "secret": SECRET[6:]}}, -32602, "webhook_secret"),
        ({"delivery": GOOD, "cursor": "c1.e30"}, -32602, "event_cursor"),
    ],
)
def test_requests_that_are_refused(
    bench: McpBench, more: Json, code: int, rule: str | None
) -> None:
    params = {"name": "fact", "arguments": FACTS, "delivery": GOOD, **more}

    async def work(client: Client, hook: HttpReceiver) -> None:
        await ask(client, "events/subscribe", **params)

    with pytest.raises(MCPError) as caught:
        run(bench, work)
    assert (caught.value.code, caught.value.data["rule"]) == (code, rule or "event_forbidden")


def test_a_principal_has_so_many_webhooks(tmp_path: Path) -> None:
    with mcp_bench(tmp_path, with_tokens=True, mcp_webhooks=2, **PUSH) as bench:

        async def work(client: Client, hook: HttpReceiver) -> None:
            for path in ("/1", "/2", "/1"):
                await subscribe(client, hook.url(path))
            with pytest.raises(MCPError) as caught:
                await subscribe(client, hook.url("/3"))
            assert caught.value.code == -32013
            data = {"rule": "webhook_limit", "limit": "subscriptions", "max": 2}
            assert caught.value.data.items() >= data.items()

        run(bench, work)


def test_who_loses_its_token_is_told_and_gets_no_more(bench: McpBench) -> None:
    async def work(client: Client, hook: HttpReceiver) -> None:
        await subscribe(client, hook.url())
        (bench.bench.settings.tokens or Path()).write_text("")
        bench.bench.bench.now += 60_000
        await hook.wait_for(2)

    _, farewell = run(bench, work)
    assert farewell.json["type"] == "terminated"
    assert farewell.json["error"]["code"] == -32012
    assert is_signed(farewell, KEY)
    assert deliveries_in(bench)[-1].state is State.ENDED


def test_a_receiver_that_missed_records_is_told_of_the_gap(bench: McpBench) -> None:
    """Begin a subscription beyond the end of its topic, as if the log had been replaced."""

    async def work(client: Client, hook: HttpReceiver) -> None:
        begin = await ask(client, "events/poll", name="fact", arguments=FACTS)
        answer = await subscribe(client, hook.url(), cursor=begin["cursor"])
        await unsubscribe(client, hook.url())
        stored = subscriptions_in(bench)[0]
        assert stored is not None
        cursor = read_cursor(answer["cursor"])
        assert cursor is not None
        beyond = {topic: [each + 9 for each in vector] for topic, vector in cursor.offsets.items()}
        displaced = stored._replace(revision=2, since_cursor=write_cursor("fact", beyond))
        log = bench.bench.bench.log
        log.append([Output(PUSH_SUBSCRIPTIONS.name, displaced.id.encode(), displaced.encode())])
        await hook.wait_for(2)
        await send(client, 1)
        await hook.wait_for(3)

    _, gap, event = run(bench, work)
    assert gap.json["type"] == "gap"
    assert gap.json["cursor"].startswith("c1.")
    assert event.json["data"]["key"] == "s-1"


def test_webhooks_are_offered_where_they_can_be_had(bench: McpBench, tmp_path: Path) -> None:
    async def work(client: Client) -> Json:
        return await ask(client, "events/list")

    token = bench.new_token(Role.READER)
    listed = bench.use(work, token)["events"]
    assert all(each["delivery"] == ["poll", "push", "webhook"] for each in listed)
    for more in ({"with_tokens": True}, PUSH):
        folder = tmp_path / str(len(more))
        folder.mkdir()
        with mcp_bench(folder, **more) as other:
            reader = other.new_token(Role.READER) if "with_tokens" in more else None
            listed = other.use(work, reader)["events"]
            assert all(each["delivery"] == ["poll", "push"] for each in listed)


def test_signatures_are_those_of_the_published_example() -> None:
    """Sign the example of the Standard Webhooks specification."""
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    headers = sign([key], "msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}', 1614265330_000)
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
