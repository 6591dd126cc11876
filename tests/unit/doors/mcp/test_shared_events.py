"""Tests of events that many streams are sent: each is made once, and written in the SDK's form."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.doors.mcp import polling, shared_events, streaming
from streams.doors.mcp.exchange import ResponseWriter
from streams.doors.mcp.notifying import extend_object, to_json
from streams.doors.mcp.shared_events import SharedEvents
from tests.unit.doors.mcp.bench import Json, McpBench, mcp_bench
from tests.unit.doors.mcp.open_requests import FACTS, SUBSCRIPTION, Wire, call, next_of, serve
from tests.unit.protocols.sap.queries.stage import task


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBench]:
    with mcp_bench(tmp_path_factory.mktemp("mcp"), rtes_heartbeat_s=1) as bench:
        yield bench


@pytest.mark.parametrize("at_once", [64 * 1024, 0])
def test_an_event_is_made_once_for_all_streams(
    bench: McpBench, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    made: list[str] = []

    def make(kind: Any, record: Any, position: str, data: Json) -> Json:
        made.append(position)
        return polling.event_json(kind, record, position, data)

    monkeypatch.setattr(streaming, "event_json", make)
    monkeypatch.setattr(streaming, "_MOST_AT_ONCE", at_once)
    first = 31 if at_once else 41

    async def work(wire: Wire) -> list[list[Json]]:
        params: Json = {"name": "fact", "arguments": FACTS}
        streams = [wire.open("events/stream", params) for _ in range(3)]
        for stream in streams:
            await next_of(stream, "events/active")
            await anext(stream)  # a heartbeat: it follows the tail
        for number in (first, first + 1, first + 2):
            await call(wire, "sap.tasks", task(number))
        seen = [[await next_of(each, "events/event") for _ in range(3)] for each in streams]
        for stream in streams:
            await stream.aclose()
        return seen

    one, *others = serve(bench, work)
    assert [each["data"]["value"]["taskId"] for each in one] == [
        task(number)["taskId"] for number in (first, first + 1, first + 2)
    ]
    assert others == [one, one]
    assert made == [each["eventId"] for each in one]
    assert len({each["cursor"] for each in one}) == 3


def test_a_text_is_made_again_once_it_was_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_events, "MOST_BYTES", 3000)
    events, made = SharedEvents(), list[int]()

    def maker(number: int) -> Callable[[], bytes]:
        def make() -> bytes:
            made.append(number)
            return bytes(800)

        return make

    for number in (1, 2, 1, 3, 1):
        assert events.text(number, maker(number)) == bytes(800)
    assert made == [1, 2, 3, 1]


def test_that_nothing_matches_is_kept_too() -> None:
    events, made = SharedEvents(), list[int]()

    def make() -> None:
        made.append(1)

    assert events.text("key", make) is None
    assert events.text("key", make) is None
    assert made == [1]


def test_more_is_written_only_after_the_response_has_begun() -> None:
    async def work() -> list[Any]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message.get("body", message["type"]))

        writer = ResponseWriter(send)
        more = asyncio.create_task(writer.write(b"more"))
        await asyncio.sleep(0)
        await writer.send({"type": "http.response.start", "status": 200})
        await asyncio.sleep(0)
        await writer.send({"type": "http.response.body", "body": b"begin", "more_body": True})
        await more
        return sent

    assert asyncio.run(work()) == ["http.response.start", b"begin", b"more"]


@given(st.dictionaries(st.text(), st.none() | st.text() | st.integers(), min_size=1))
def test_members_are_added_to_a_text(members: Json) -> None:
    text = extend_object(to_json(members), to_json({"_meta": {SUBSCRIPTION: 1}}))
    assert json.loads(text) == {**members, "_meta": {SUBSCRIPTION: 1}}
    assert text.isascii()
    assert b"\n" not in text
