"""Streams that stay open: what comes is sent at once, to every client, from any gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.access import Role
from streams.gateway.app import create_app
from streams.views.status import ViewStatus
from tests.unit.doors.a2a.bench import A2aBench, a2a_bench, sending
from tests.unit.doors.a2a.live import open_stream
from tests.unit.protocols.summit.queries.stage import REPLIES, progress, result

Json = dict[str, Any]
TASK = "adaa3e69-07a4-506f-9423-e7166b1f2f47"
SEND, SUBSCRIBE = "/a2a/word-stats/message:stream", f"/a2a/word-stats/tasks/{TASK}:subscribe"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[A2aBench]:
    with a2a_bench(tmp_path, a2a_keepalive_s=1) as each:
        yield each


def reply(bench: A2aBench, *replies: Json) -> None:
    bench.bench.bench.append(REPLIES, *replies)


def test_events_come_one_by_one(bench: A2aBench) -> None:
    """Check that each reply is sent when it is decided, and the stream ends with the task."""

    async def follow() -> list[str]:
        ids = []
        async with open_stream(bench.bench.app, SEND, sending()) as stream:
            ids += [event_id for event_id, _ in await stream.next()]
            for number in range(3):
                reply(bench, progress(TASK, f"p-{number}", message=f"step {number}"))
                ids += [event_id for event_id, _ in await stream.next()]
            reply(bench, result(TASK))
            ids += [event_id for event_id, _ in await stream.next()]
            assert await stream.next() == []
        return ids

    assert asyncio.run(follow()) == ["1", "2", "3", "4", "5a", "5"]


def test_stream_shows_that_it_lives(bench: A2aBench) -> None:
    """Check that while nothing happens a comment comes, and then the next event."""

    async def follow() -> None:
        async with open_stream(bench.bench.app, SEND, sending()) as stream:
            assert [event_id for event_id, _ in await stream.next()] == ["1"]
            assert await stream.next() == []
            reply(bench, progress(TASK))
            events = await stream.next() or await stream.next()
            assert [event_id for event_id, _ in events] == ["2"]

    asyncio.run(follow())


def test_two_clients_get_the_same(bench: A2aBench) -> None:
    """Check that a stream by JSON-RPC has the events of the other one, in its envelope."""
    call = {"jsonrpc": "2.0", "id": "s", "method": "SubscribeToTask", "params": {"id": TASK}}

    async def follow() -> None:
        app = bench.bench.app
        async with open_stream(app, SEND, sending()) as first:
            assert [event_id for event_id, _ in await first.next()] == ["1"]
            async with open_stream(app, "/a2a/word-stats", call) as second:
                ((event_id, body),) = await second.next()
                assert (event_id, body["id"], body["result"]["task"]["id"]) == ("1", "s", TASK)
                reply(bench, progress(TASK, message="half"))
                ((_, one),), ((_, other),) = await first.next(), await second.next()
                assert other == {"jsonrpc": "2.0", "id": "s", "result": one}

    asyncio.run(follow())


def test_stream_goes_on_at_another_gateway(bench: A2aBench) -> None:
    """Check that a client resumes at another gateway: no event is missing, none comes twice."""
    old = bench.bench

    async def follow() -> list[str]:
        ids = []
        async with open_stream(old.app, SEND, sending()) as stream:
            ids += [event_id for event_id, _ in await stream.next()]
            reply(bench, progress(TASK, "p-1"))
            ids += [event_id for event_id, _ in await stream.next()]
        reply(bench, progress(TASK, "p-2"))
        other = create_app(old.settings, old.bench.log, old.view, clock=lambda: old.bench.now)
        headers = {"last-event-id": ids[-1]}
        async with open_stream(other, SUBSCRIBE, None, headers) as stream:
            ((again, _),) = await stream.next()
            assert again == ids[-1]
            ids += [event_id for event_id, _ in await stream.next()]
            reply(bench, result(TASK))
            ids += [event_id for event_id, _ in await stream.next()]
        return ids

    assert asyncio.run(follow()) == ["1", "2", "3", "4a", "4"]


def test_client_that_leaves_gives_its_place_back(tmp_path: Path) -> None:
    """Check that one stream may be open: another is refused until the client has left."""

    async def follow(bench: A2aBench) -> list[int | None]:
        statuses = []
        app = bench.bench.app
        async with open_stream(app, SEND, sending()) as stream:
            await stream.next()
            async with open_stream(app, SUBSCRIBE) as second:
                await second.next()
                statuses.append(second.status)
            statuses.append(stream.status)
        async with open_stream(app, SUBSCRIBE) as third:
            await third.next()
            statuses.append(third.status)
        return statuses

    with a2a_bench(tmp_path, gateway_max_streams=1) as bench:
        assert asyncio.run(follow(bench)) == [429, 200, 200]


def test_revoked_token_ends_its_stream(tmp_path: Path) -> None:
    """Check that a stream ends at the next sign of life once its token is gone."""
    with a2a_bench(tmp_path, with_tokens=True, a2a_keepalive_s=1) as bench:
        token = bench.new_token(Role.PRODUCER)
        headers = {"authorization": f"Bearer {token}"}

        async def follow() -> None:
            async with open_stream(bench.bench.app, SEND, sending(), headers) as stream:
                assert len(await stream.next()) == 1
                bench.revoke_tokens()
                assert await stream.next() == []
                assert stream.is_over

        asyncio.run(follow())


def test_error_after_the_first_event(bench: A2aBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a stream whose view fails says so in its own form, and ends."""
    call = {"jsonrpc": "2.0", "id": 7, "method": "SendStreamingMessage", "params": sending()}

    async def follow() -> None:
        async with open_stream(bench.bench.app, "/a2a/word-stats", call) as stream:
            await stream.next()
            monkeypatch.setattr(bench.bench.view, "reader", fail)
            events = await stream.next() or await stream.next()
            ((kind, body),) = events
            assert (kind, body["id"], body["error"]["code"]) == ("error", 7, -32603)
            assert body["error"]["data"][0]["metadata"]["rule"] == "service.unavailable"

    asyncio.run(follow())


def fail() -> Any:
    from streams.errors import ViewNotReady

    raise ViewNotReady("the view is being rebuilt")


def test_browser_waits_for_a_gateway_that_has_just_been_started(
    bench: A2aBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that a GET is answered once the view is ready; EventSource gives up on a refusal."""
    view = bench.bench.view
    answers: list[bool] = []

    def become_ready() -> ViewStatus:
        answers.append(len(answers) >= 3)
        status = look()
        return status if answers[-1] else status._replace(state="rebuilding")

    async def follow() -> None:
        async with open_stream(bench.bench.app, SEND, sending()) as stream:
            await stream.next()
        monkeypatch.setattr(view, "status", become_ready)
        async with open_stream(bench.bench.app, SUBSCRIBE, method="GET") as stream:
            assert [event_id for event_id, _ in await stream.next()] == ["1"]
            assert stream.status == 200

    look = view.status
    asyncio.run(follow())
    assert answers[:4] == [False, False, False, True]
