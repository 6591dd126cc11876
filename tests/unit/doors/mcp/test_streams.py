"""Tests of the methods that stay open: events as they come, and changes of tasks."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from streams.access import Role
from streams.doors.mcp.tails import Tail
from streams.engine.log import NewTopic
from streams.engine.memory import MemoryLog
from streams.engine.records import Output, TopicPartition
from tests.unit.asap.support import envelope_json
from tests.unit.doors.mcp.bench import Json, McpBench, mcp_bench
from tests.unit.doors.mcp.open_requests import FACTS, Wire, call, next_of, serve
from tests.unit.envelopes import ack, idea, transition
from tests.unit.protocols.sap.queries.stage import result, task
from tests.unit.protocols.summit.queries.stage import AGENT, manifest


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBench]:
    with mcp_bench(tmp_path_factory.mktemp("mcp"), rtes_heartbeat_s=1) as bench:
        yield bench


def test_events_come_as_they_happen_and_go_on_after_a_cursor(bench: McpBench) -> None:
    first, second, third = (task(number) for number in (11, 12, 13))

    async def work(wire: Wire) -> None:
        params: Json = {"name": "fact", "arguments": FACTS}
        stream = wire.open("events/stream", params)
        active = await next_of(stream, "events/active")
        assert active["truncated"] is False
        await call(wire, "sap.tasks", first)
        event = await next_of(stream, "events/event")
        assert event["name"] == "fact"
        assert event["data"]["value"]["taskId"] == first["taskId"]
        await call(wire, "sap.tasks", second)
        later = await next_of(stream, "events/event")
        assert later["data"]["value"]["taskId"] == second["taskId"]
        await stream.aclose()
        await call(wire, "sap.tasks", third)
        again = wire.open("events/stream", {**params, "cursor": event["cursor"]})
        assert (await next_of(again, "events/active"))["cursor"] == event["cursor"]
        seen = [await next_of(again, "events/event") for _ in range(2)]
        ids = {each["data"]["value"]["taskId"] for each in seen}
        assert ids == {second["taskId"], third["taskId"]}
        assert later["eventId"] in [each["eventId"] for each in seen]
        await again.aclose()

    serve(bench, work)


def test_streams_and_their_events_are_counted(bench: McpBench) -> None:
    async def metrics(wire: Wire) -> str:
        transport = httpx2.ASGITransport(wire._app)
        async with httpx2.AsyncClient(transport=transport) as http:
            return (await http.get("http://localhost/metrics")).text

    async def work(wire: Wire) -> None:
        assert "headrace_mcp_streams 0.0" in await metrics(wire)
        stream = wire.open("events/stream", {"name": "fact", "arguments": FACTS})
        await next_of(stream, "events/active")
        assert "headrace_mcp_streams 1.0" in await metrics(wire)
        await call(wire, "sap.tasks", task(14))
        await next_of(stream, "events/event")
        await call(wire, "sap.tasks", task(15))
        await next_of(stream, "events/event")  # the first is counted once it is sent
        assert 'headrace_mcp_events_total{mode="push"}' in await metrics(wire)
        await stream.aclose()
        assert "headrace_mcp_streams 0.0" in await metrics(wire)

    serve(bench, work)


def test_a_stream_has_heartbeats_while_events_of_others_come(bench: McpBench) -> None:
    async def work(wire: Wire) -> Json:
        stream = wire.open("events/stream", {"name": "fact", "arguments": {**FACTS, "key": "none"}})
        await next_of(stream, "events/active")

        async def send() -> None:
            for number in range(1000, 10_000):
                await call(wire, "sap.tasks", task(number))

        sending = asyncio.create_task(send())
        try:
            async for each in stream:
                return each
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            await stream.aclose()
        raise AssertionError("the stream has ended")

    assert serve(bench, work)["method"] == "notifications/events/heartbeat"


def test_a_quiet_stream_has_heartbeats_with_its_cursor(bench: McpBench) -> None:
    async def work(wire: Wire) -> None:
        stream = wire.open("events/stream", {"name": "fact", "arguments": FACTS})
        active = await next_of(stream, "events/active")
        async for each in stream:
            assert each["method"] == "notifications/events/heartbeat"
            assert each["params"]["cursor"] == active["cursor"]
            break
        await stream.aclose()

    serve(bench, work)


@pytest.mark.parametrize(
    ("params", "rule"),
    [
        ({"name": "none"}, "event_unknown"),
        ({"name": "fact", "arguments": {"topics": "x"}}, "event_arguments"),
        ({"name": "fact", "arguments": FACTS, "cursor": "c1.x"}, "event_cursor"),
    ],
)
def test_a_stream_that_cannot_begin(bench: McpBench, params: Json, rule: str) -> None:
    async def work(wire: Wire) -> Json:
        async for each in wire.open("events/stream", params):
            return each
        raise AssertionError("no answer")

    assert serve(bench, work)["error"]["data"]["rule"] == rule


def test_a_stream_ends_when_the_gateway_stops(bench: McpBench) -> None:
    view: Any = bench.bench.view

    async def work(wire: Wire) -> list[Json]:
        stream = wire.open("events/stream", {"name": "fact", "arguments": FACTS})
        await next_of(stream, "events/active")
        view.drain()
        return [each async for each in stream if each.get("method", "")[-9:] != "heartbeat"]

    if hasattr(view, "drain"):
        (last,) = serve(bench, work)
        assert last["result"]["resultType"] == "complete"


def test_tasks_and_resources_are_listened_to(tmp_path: Any) -> None:
    envelope = task(21)
    uri = f"headrace://node/sap%3Atask%3A{envelope['taskId']}"

    async def work(wire: Wire) -> list[Json]:
        created = await call(wire, "sap.tasks", envelope, "outcome")
        wishes = {
            "taskIds": [created["taskId"], "t1.s.none.x"],
            "resourceSubscriptions": [uri, "headrace://topics"],
            "promptsListChanged": True,
        }
        stream = wire.open("subscriptions/listen", {"notifications": wishes})
        first = await next_of(stream, "subscriptions/acknowledged")
        honoured = {"taskIds": [created["taskId"]], "resourceSubscriptions": [uri]}
        assert first["notifications"] == honoured
        assert (await next_of(stream, "tasks"))["status"] == "working"
        await call(wire, "sap.results", result(envelope))
        messages, is_done, is_updated = [], False, False
        async for each in stream:
            messages.append(each)
            is_done = is_done or each["params"].get("status") == "completed"
            is_updated = is_updated or each["method"] == "notifications/resources/updated"
            if is_done and is_updated:
                break
        await stream.aclose()
        return messages

    with mcp_bench(tmp_path, mcp_task_after_ms=0) as bench:
        messages = serve(bench, work)
    (done,) = (each["params"] for each in messages if each["params"].get("status") == "completed")
    assert done["result"]["structuredContent"]["state"] == "SUCCEEDED"
    updated = [each for each in messages if each["method"] == "notifications/resources/updated"]
    assert {each["params"]["uri"] for each in updated} == {uri}


def test_things_and_sessions_are_listened_to(tmp_path: Any) -> None:
    packet = {**idea(61), "trace": {**idea(61)["trace"], "session_id": "heard"}}
    thing = f"headrace://node/apc%3Apacket%3A{packet['packet_id']}"
    session = "headrace://session/heard/events"
    gone = [f"{thing}?as_of=apc.events/0/0", "headrace://rule/accepted", "headrace://node/none"]

    async def work(wire: Wire) -> None:
        await call(wire, "apc.packets", packet)
        wishes = {"resourceSubscriptions": [thing, session, *gone]}
        stream = wire.open("subscriptions/listen", {"notifications": wishes})
        first = await next_of(stream, "subscriptions/acknowledged")
        assert first["notifications"] == {"resourceSubscriptions": [thing, session]}
        await call(wire, "apc.packets", ack(packet, 62))
        assert (await next_of(stream, "resources/updated"))["uri"] == thing
        await call(wire, "rtes.raw", {**transition(), "session_id": "heard"})
        while (await next_of(stream, "resources/updated"))["uri"] != session:
            pass  # the packet is archived by now
        await stream.aclose()

    with mcp_bench(tmp_path) as bench:
        serve(bench, work)


def test_things_of_many_rows_are_listened_to(tmp_path: Any) -> None:
    uris = [f"headrace://node/{quote(node)}" for node in ("asap:conversation:c-1", "trace:tr-19")]

    async def work(wire: Wire) -> set[str]:
        await call(wire, "asap.envelopes", envelope_json())
        wishes = {"resourceSubscriptions": uris}
        stream = wire.open("subscriptions/listen", {"notifications": wishes})
        acknowledged = await next_of(stream, "subscriptions/acknowledged")
        assert acknowledged["notifications"] == wishes
        await call(wire, "asap.envelopes", envelope_json())
        updated = {(await next_of(stream, "resources/updated"))["uri"] for _ in uris}
        await stream.aclose()
        return updated

    with mcp_bench(tmp_path) as bench:
        assert serve(bench, work) == set(uris)


def test_lists_are_listened_to(tmp_path: Any) -> None:
    wishes = {"toolsListChanged": True, "resourcesListChanged": True, "promptsListChanged": True}
    uri = f"headrace://node/summit%3Amanifest%3A{AGENT}%2F1.2.0"

    async def work(wire: Wire) -> Json:
        stream = wire.open("subscriptions/listen", {"notifications": wishes})
        first = await next_of(stream, "subscriptions/acknowledged")
        accepted = await call(wire, "summit.manifests", manifest())
        assert accepted["structuredContent"]["verdict"] == "accepted"
        names = {(await anext(stream))["method"] for _ in range(2)}
        assert names == {"notifications/tools/list_changed", "notifications/resources/list_changed"}
        await stream.aclose()
        return first

    with mcp_bench(tmp_path) as bench:
        first = serve(bench, work)
        listed: Any = bench.use(lambda client: client.list_resources()).resources
        read: Any = bench.use(lambda client: client.read_resource(uri)).contents
    assert first["notifications"] == {"toolsListChanged": True, "resourcesListChanged": True}
    assert str(listed[-1].uri) == uri
    assert json.loads(read[0].text)["node"] == f"summit:manifest:{AGENT}/1.2.0"


def test_who_asks_for_a_page_of_resources_that_is_none_is_refused(bench: McpBench) -> None:
    with pytest.raises(MCPError, match="cursor"):
        bench.use(lambda client: client.list_resources(cursor="none"))


def test_who_loses_its_token_is_told(tmp_path: Any) -> None:
    with mcp_bench(tmp_path, with_tokens=True, rtes_heartbeat_s=1) as bench:
        token = bench.new_token(Role.READER)

        async def work(wire: Wire) -> list[Json]:
            stream = wire.open("events/stream", {"name": "fact", "arguments": FACTS})
            await next_of(stream, "events/active")
            (tmp_path / "tokens.jsonl").write_text("")
            return [each async for each in stream]

        *_, notice, last = serve(bench, work, token)
        assert notice["method"] == "notifications/events/terminated"
        assert notice["params"]["error"]["code"] == -32012
        assert last["result"]["resultType"] == "complete"


def test_a_principal_has_so_many_streams(tmp_path: Any) -> None:
    with mcp_bench(tmp_path, with_tokens=True, gateway_principal_streams=1) as bench:
        token = bench.new_token(Role.READER)

        async def work(wire: Wire) -> Json:
            stream = wire.open("events/stream", {"name": "fact", "arguments": FACTS})
            await next_of(stream, "events/active")
            async for each in wire.open("events/stream", {"name": "fact", "arguments": FACTS}):
                return each
            raise AssertionError("no answer")

        refused = serve(bench, work, token)
        assert (refused["status"], refused["rule"]) == (429, "too_many_requests")


def test_a_tail_keeps_the_newest_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.doors.mcp.tails.MOST_RECORDS", 3)
    log, tp = MemoryLog(lambda: 0), TopicPartition("t", 0)
    log.create([NewTopic("t", 1, {})])
    grown = threading.Event()
    tail = Tail(log, "t", grown.set)
    try:
        deadline = time.monotonic() + 20
        while tail.newest({tp: 0}) is None and time.monotonic() < deadline:
            grown.wait(0.1)
        for n in range(5):
            log.append([Output("t", b"k", str(n).encode())])
        while tail.newest({tp: 1}) is not None:  # until it has dropped the first two
            assert time.monotonic() < deadline
            grown.wait(0.1)
        newest = tail.newest({tp: 3})
        assert newest is not None
        assert [record.offset for record in newest[0]] == [3, 4]
        assert newest[1] == {tp: 5}
    finally:
        tail.stop()


def test_who_loses_its_token_is_told_of_no_change(tmp_path: Any) -> None:
    with mcp_bench(tmp_path, with_tokens=True) as bench:
        token, other = bench.new_token(Role.PRODUCER), bench.new_token(Role.OPERATOR)
        tokens = tmp_path / "tokens.jsonl"

        async def work(wire: Wire) -> list[Json]:
            wishes = {"notifications": {"toolsListChanged": True}}
            stream = wire.open("subscriptions/listen", wishes)
            await next_of(stream, "subscriptions/acknowledged")
            tokens.write_text(tokens.read_text().splitlines()[-1] + "\n")
            sending = Wire(wire._app, {"authorization": f"Bearer {other}"})
            sent = await call(sending, "summit.manifests", manifest())
            assert sent["structuredContent"]["verdict"] == "accepted"
            return [each async for each in stream]

        (last,) = serve(bench, work, token)
        assert last["result"]["resultType"] == "complete"
