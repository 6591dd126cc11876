"""Tests of events: polls and their cursors."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import Request, RequestParams, Result
from pydantic import ConfigDict

from streams.access import Role
from streams.doors.mcp import polling
from streams.doors.mcp.cursors import parse_cursor, write_cursor
from streams.doors.mcp.results import ToolRefused
from streams.engine.records import Output
from tests.unit.doors.mcp.bench import Json, McpBench, mcp_bench
from tests.unit.envelopes import idea, packet_id
from tests.unit.protocols.sap.queries.stage import task

PACKETS = 12
FACTS: Json = {"topic": "apc.events"}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBench]:
    with mcp_bench(tmp_path_factory.mktemp("mcp")) as bench:
        bench.use(send_packets)
        yield bench


async def send_packets(client: Client) -> None:
    for number in range(PACKETS):
        packet = idea(number, trace__session_id=f"s-{number}")
        await client.call_tool("send", {"topic": "apc.packets", "envelope": packet, "wait_s": 50})


class AnyResult(Result):
    """A result with members of an extension."""

    model_config = ConfigDict(extra="allow")


async def ask(client: Client, method: str, **params: Any) -> Json:
    class Params(RequestParams):
        model_config = ConfigDict(extra="allow")

    request: Any = Request[Any, Any](method=method, params=Params(**params))
    result = await client.session.send_request(request, AnyResult)
    return result.model_dump(by_alias=True)


def poll(bench: McpBench, token: str | None = None, **params: Any) -> Json:
    return bench.use(lambda client: ask(client, "events/poll", **params), token)


def start_of(bench: McpBench, name: str, topics: list[str]) -> str:
    infos = bench.bench.bench.log.topics()
    return write_cursor(name, {topic: [0] * infos[topic].partitions for topic in topics})


def polled_by(bench: McpBench, cursor: str, sizes: list[int], **params: Any) -> list[str]:
    """Return the ids of all events from a cursor on, by polls of these sizes in turn."""

    async def work(client: Client) -> list[str]:
        ids, here, turn = [], cursor, 0
        while True:
            limit = sizes[turn % len(sizes)]
            page = await ask(client, "events/poll", cursor=here, maxEvents=limit, **params)
            assert len(page["events"]) <= limit
            ids += [each["eventId"] for each in page["events"]]
            here, turn = page["cursor"], turn + 1
            if not page["hasMore"]:
                return ids

    return bench.use(work)


def test_the_types_are_listed_and_the_capability_is_shown(bench: McpBench) -> None:
    async def work(client: Client) -> Any:
        return await ask(client, "events/list")

    names = [each["name"] for each in bench.use(work)["events"]]
    assert names == ["rtes.event", "fact", "verdict", "inbox", "dead_letter"]


def test_without_a_cursor_a_poll_begins_now(bench: McpBench) -> None:
    page = poll(bench, name="fact", arguments=FACTS)
    assert (page["events"], page["truncated"], page["hasMore"]) == ([], False, False)
    again = poll(bench, name="fact", arguments=FACTS, cursor=page["cursor"])
    assert (again["events"], again["cursor"]) == ([], page["cursor"])


def test_events_and_polls_that_end_early_are_counted(tmp_path: Path) -> None:
    with mcp_bench(tmp_path, mcp_scan=5) as bench:
        bench.use(send_packets)
        start = start_of(bench, "fact", ["apc.events"])
        limited = poll(bench, name="fact", arguments=FACTS, cursor=start, maxEvents=2)
        assert (len(limited["events"]), limited["hasMore"]) == (2, True)
        assert 'headrace_mcp_events_total{mode="poll"} 2.0' in bench.metrics
        assert "headrace_mcp_scans_cut_total 0.0" in bench.metrics
        cut = poll(bench, name="fact", arguments=FACTS, cursor=start)
        assert (len(cut["events"]), cut["hasMore"]) == (5, True)
        assert 'headrace_mcp_events_total{mode="poll"} 5.0' in bench.metrics
        assert "headrace_mcp_scans_cut_total 1.0" in bench.metrics


@pytest.mark.parametrize("sizes", [[1], [3], [1, 5], [1000]])
def test_however_polls_are_split_each_event_comes_once(bench: McpBench, sizes: list[int]) -> None:
    start = start_of(bench, "fact", ["apc.events"])
    ids = polled_by(bench, start, sizes, name="fact", arguments=FACTS)
    assert len(ids) == len(set(ids)) >= PACKETS
    assert ids == polled_by(bench, start, [1000], name="fact", arguments=FACTS)


def test_a_verdict_names_the_thing_and_its_cause(bench: McpBench) -> None:
    arguments: Json = {"protocol": "apc", "verdict": "accepted"}
    start = poll(bench, name="verdict", arguments=arguments)["cursor"]
    offsets = parse_topics(start)
    begin = write_cursor("verdict", {topic: [0] * n for topic, n in offsets.items()})
    page = poll(bench, name="verdict", arguments=arguments, cursor=begin)
    data = page["events"][0]["data"]
    assert data["node"] in {f"apc:packet:{packet_id(number)}" for number in range(PACKETS)}
    assert data["cause"].startswith("apc.packets/")
    assert data["resource"] == f"headrace://record/{data['position']}"


def parse_topics(cursor: str) -> dict[str, int]:

    text = cursor.removeprefix("c1.")
    value = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return {topic: len(offsets) for topic, offsets in value["o"].items()}


def test_filters_leave_others_out(bench: McpBench) -> None:
    start = start_of(bench, "inbox", ["apc.inbox"])
    arguments = {"protocol": "apc", "agent": "nobody"}
    page = poll(bench, name="inbox", arguments=arguments, cursor=start)
    assert (page["events"], page["hasMore"]) == ([], False)


def test_a_cursor_beyond_the_log_is_begun_at_its_end(bench: McpBench) -> None:
    infos = bench.bench.bench.log.topics()
    ahead = write_cursor("fact", {"apc.events": [10**9] * infos["apc.events"].partitions})
    page = poll(bench, name="fact", arguments=FACTS, cursor=ahead)
    assert (page["events"], page["truncated"]) == ([], True)


def test_a_poll_leaves_out_what_is_older_than_it_asks_for(tmp_path: Path) -> None:
    request: Json = {"name": "fact", "arguments": FACTS}

    async def send(client: Client, number: int) -> None:
        packet = idea(number, trace__session_id=f"s-{number}")
        await client.call_tool("send", {"topic": "apc.packets", "envelope": packet, "wait_s": 50})

    def ids(page: Json) -> set[str]:
        return {each["eventId"] for each in page["events"]}

    with mcp_bench(tmp_path) as bench:
        start = start_of(bench, "fact", ["apc.events"])
        bench.use(lambda client: send(client, 1))
        old = ids(poll(bench, **request, cursor=start))
        bench.bench.bench.now += 60_000
        bench.use(lambda client: send(client, 2))
        every = ids(poll(bench, **request, cursor=start))
        page = poll(bench, **request, maxAgeMs=30_000)
        assert ids(page) == every - old
        assert old < every
        assert (page["truncated"], page["hasMore"]) == (False, False)
        late = poll(bench, **request, cursor=start, maxAgeMs=30_000)
        assert (ids(late), late["truncated"]) == (ids(page), True)
        whole = poll(bench, **request, cursor=start, maxAgeMs=90_000)
        assert (ids(whole), whole["truncated"]) == (every, False)
        ever = poll(bench, **request, cursor=start, maxAgeMs=10**30)
        assert (ids(ever), ever["truncated"]) == (every, False)
        bench.bench.bench.now += 60_000
        page = poll(bench, **request, maxAgeMs=30_000)
        assert (page["events"], page["hasMore"]) == ([], False)
        assert page["cursor"] == late["cursor"]


@pytest.mark.parametrize(
    ("params", "rule"),
    [
        ({"name": "none"}, "event_unknown"),
        ({"name": "fact", "arguments": {}}, "event_arguments"),
        ({"name": "fact", "arguments": {**FACTS, "topik": "x"}}, "event_arguments"),
        ({"name": "fact", "arguments": {"topic": "apc.packets"}}, "event_arguments"),
        ({"name": "fact", "arguments": FACTS, "cursor": "c1.e30"}, "event_cursor"),
        ({"name": "fact", "arguments": FACTS, "cursor": "nonsense"}, "event_cursor"),
    ],
)
def test_polls_that_are_refused(bench: McpBench, params: Json, rule: str) -> None:
    with pytest.raises(MCPError) as caught:
        poll(bench, **params)
    code = -32011 if rule == "event_unknown" else -32602
    assert (caught.value.code, caught.value.data["rule"]) == (code, rule)


WEBHOOK: Json = {"mode": "webhook", "url": "https://receiver.example/", "secret": "whsec_"}


@pytest.mark.parametrize(
    ("method", "name", "code", "data"),
    [
        (
            "subscribe",
            "verdict",
            -32014,
            {"rule": "event_mode", "feature": "deliveryMode", "value": "webhook"},
        ),
        ("subscribe", "none", -32011, {"rule": "event_unknown", "kind": "event"}),
        (
            "unsubscribe",
            "verdict",
            -32011,
            {"rule": "subscription_unknown", "kind": "subscription"},
        ),
    ],
)
def test_subscriptions_are_refused(
    bench: McpBench, method: str, name: str, code: int, data: Json
) -> None:
    with pytest.raises(MCPError) as caught:
        bench.use(lambda client: ask(client, f"events/{method}", name=name, delivery=WEBHOOK))
    assert caught.value.code == code
    assert caught.value.data.items() >= data.items()


def test_the_tool_tells_a_model_what_is_wrong(bench: McpBench) -> None:
    result = bench.call("events", name="fact", arguments=FACTS, cursor="nonsense")
    assert (result.is_error, result.structured_content["rule"]) == (True, "event_cursor")


def test_the_tool_wakes_at_the_next_event(bench: McpBench) -> None:
    async def work(client: Client) -> Any:
        now = await client.call_tool("events", {"name": "fact", "arguments": FACTS})
        cursor = now.structured_content["cursor"]
        waiting = asyncio.create_task(
            client.call_tool(
                "events", {"name": "fact", "arguments": FACTS, "cursor": cursor, "wait_s": 30}
            )
        )
        sent = await client.call_tool("send", {"topic": "apc.packets", "envelope": idea(40)})
        return sent.structured_content, (await waiting).structured_content

    sent, page = bench.use(work)
    assert page["events"][0]["eventId"] == sent["fact"]["position"]


def test_an_agent_reads_its_own_messages_only(tmp_path_factory: pytest.TempPathFactory) -> None:
    with mcp_bench(tmp_path_factory.mktemp("mcp"), with_tokens=True) as guarded:
        token = guarded.new_token(Role.PRODUCER, principal="builder-1")
        first, other = ({"protocol": "apc", "agent": name} for name in ("builder-1", "critic-1"))
        assert poll(guarded, token, name="inbox", arguments=first)["events"] == []
        for arguments, name, rule in (
            (other, "inbox", "event_forbidden"),
            (FACTS, "fact", "event_unknown"),
        ):
            with pytest.raises(MCPError) as caught:
                poll(guarded, token, name=name, arguments=arguments)
            assert caught.value.data["rule"] == rule


def test_who_works_by_capability_reads_what_is_for_no_single_agent(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """An agent whose id reads like the capability keeps its own messages."""
    inbox: Json = {"protocol": "sap", "agent": "report.summarise"}
    targets: list[Json] = [{"capability": inbox["agent"]}, {"agentId": inbox["agent"]}]
    with mcp_bench(tmp_path_factory.mktemp("mcp"), with_tokens=True) as guarded:
        operator = guarded.new_token(Role.OPERATOR, principal="ops")
        issuer = guarded.new_token(Role.PRODUCER, principal="ana")
        worker = guarded.new_token(Role.PRODUCER, principal="worker-1")
        start = poll(guarded, worker, name="inbox", arguments=inbox)["cursor"]
        for number, target in enumerate(targets, 1):
            envelope = {**task(number), "target": {**task(number)["target"], **target}}
            arguments: Json = {"topic": "sap.tasks", "envelope": envelope, "wait_s": 50}
            sent = guarded.call("send", issuer, **arguments)
            assert sent.structured_content["verdict"] == "accepted", sent.structured_content
        for token, count in ((worker, 1), (operator, 2)):
            page = poll(guarded, token, name="inbox", arguments=inbox, cursor=start)
            values = [event["data"]["value"] for event in page["events"]]
            assert len(values) == count
            assert values[0]["taskId"] == task(1)["taskId"]


def test_positions_have_no_prefix_and_what_cannot_be_read_stops_no_poll(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with mcp_bench(tmp_path_factory.mktemp("mcp"), prefix="p.") as prefixed:
        log = prefixed.bench.bench.log
        start = poll(prefixed, name="verdict")["cursor"]
        log.append([Output("p.apc.events", b"s-1", b"")])
        prefixed.use(send_packets)
        page = poll(prefixed, name="verdict", cursor=start)
    assert len(page["events"]) >= PACKETS
    assert {event["data"]["cause"].split("/")[0] for event in page["events"]} == {"apc.packets"}


def test_a_tool_that_is_not_to_wait_reads_once(
    bench: McpBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = start_of(bench, "fact", ["apc.events"])
    monkeypatch.setattr(polling, "MAX_BYTES", 1)
    monkeypatch.setattr(polling, "_BATCH", 1)
    arguments: Json = {**FACTS, "key": "nobody"}
    answer = bench.call("events", name="fact", arguments=arguments, cursor=begin)
    page = answer.structured_content
    assert (page["events"], page["hasMore"]) == ([], True)
    assert page["cursor"] != begin


@pytest.mark.parametrize("offsets", [[0], [1, 2**50], [0] * 256])
def test_cursors_are_read_back(offsets: list[int]) -> None:
    cursor = write_cursor("fact", {"t": offsets})
    assert parse_cursor(cursor, "fact", {"t": len(offsets)}) == {"t": offsets}


@pytest.mark.parametrize(
    "text", ["", "c1.", "c1.e30", "c1.!!", "c2.e30", "c1." + "A" * 20_000, "é"]
)
def test_other_texts_are_no_cursors(text: str) -> None:
    with pytest.raises(ToolRefused):
        parse_cursor(text, "fact", {"t": 1})


@pytest.mark.parametrize(
    "value",
    [
        {"n": "fact", "o": {"t": [0, 0]}},
        {"n": "fact", "o": {"t": [-1]}},
        {"n": "fact", "o": {"t": ["0"]}},
        {"n": "fact", "o": {"u": [0]}},
        {"n": "verdict", "o": {"t": [0]}},
    ],
)
def test_cursors_of_another_source_are_refused(value: Json) -> None:
    text = base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
    with pytest.raises(ToolRefused):
        parse_cursor(f"c1.{text}", "fact", {"t": 1})
