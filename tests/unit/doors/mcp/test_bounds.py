"""Tests of what a call over MCP may take of the gateway."""

from __future__ import annotations

import asyncio
import contextvars
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from streams.doors.mcp import agents, simulating
from streams.doors.mcp.agents import OfferedTool
from streams.doors.mcp.door import Door, ToolCall
from streams.doors.mcp.results import ToolRefused
from streams.log import records
from streams.views.service import refusals
from tests.unit.doors.mcp.bench import Json, McpBench, mcp_bench
from tests.unit.doors.mcp.test_tools import answer, refusal
from tests.unit.envelopes import idea, transition

ENDLESS = "while True: print('x' * 65536, flush=True)"
CALLER: contextvars.ContextVar[str] = contextvars.ContextVar("caller", default="nobody")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[McpBench]:
    with mcp_bench(tmp_path, mcp_max_result_bytes=8192) as made:
        yield made


def test_the_output_of_a_scenario_is_read_within_the_limit_of_results(bench: McpBench) -> None:
    lines = [{"topic": "apc.packets", "value": idea(n)} for n in range(1, 30)]
    body = refusal(bench.call("simulate", lines=lines))
    assert (body["rule"], body["path"]) == ("result_too_large", "/lines")


def test_a_process_that_prints_for_ever_is_not_read_for_ever() -> None:
    async def run() -> None:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", ENDLESS, stdin=pipe, stdout=pipe
        )
        try:
            with pytest.raises(ToolRefused, match="1000000 bytes"):
                await simulating._exchange(process, b"order", 1_000_000)
        finally:
            await simulating.end(process)

    asyncio.run(run())


def test_a_fact_that_is_too_large_to_be_shown_is_explained_without_its_value(
    bench: McpBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = answer(bench.call("send", topic="apc.packets", envelope=idea()), "send")
    command, fact = sent["position"], sent["fact"]["position"]
    explained = answer(bench.call("explain", position=command), "explain")
    assert explained["facts"] == [sent["fact"]]
    monkeypatch.setattr(records, "MAX_BYTES", 10)
    for position in (command, fact):
        bare = answer(bench.call("explain", position=command), "explain")
        assert (bare["verdict"], bare["cause"]) == ("accepted", command), position
        assert bare["facts"] == [{"position": fact, "value": None}]


def test_a_refusal_is_read_without_those_before_it(
    bench: McpBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check it for a topic that is not shown, whose records have no list of effects."""
    for number in range(1, 9):  # a task begins only once
        bench.call("send", topic="rtes.raw", envelope=transition(number))
    read: list[bytes] = []
    matching = refusals._matching

    def count(place: bytes, row: bytes | None, filters: Mapping[str, str]) -> Any:
        read.append(place)
        return matching(place, row, filters)

    monkeypatch.setattr(refusals, "_matching", count)
    sent = bench.call("send", topic="rtes.raw", envelope=transition(9)).structured_content
    assert sent["verdict"] == "rejected", sent
    assert len(read) == 1


class Producing:
    """Stands in for the production of envelopes; it lasts until it is let go."""

    def __init__(self) -> None:
        self.begun, self.let_go = asyncio.Event(), asyncio.Event()
        self.written: list[tuple[str, str]] = []
        self.all = asyncio.Event()

    async def __call__(self, door: Door, topic: Any, envelope: str, meta: Json) -> str:
        self.begun.set()
        await self.let_go.wait()
        self.written.append((envelope, CALLER.get()))
        if len(self.written) == 2:
            self.all.set()
        return "summit.calls/0/0"


def test_a_client_that_leaves_while_its_call_is_written_leaves_no_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    offered = SimpleNamespace(
        tool=None,
        of=SimpleNamespace(
            topic=None,
            wait_s=lambda settings, seconds: 30,
            call=lambda tool, arguments, context: "call",
            cancel=lambda run_id, why: f"cancel of {run_id[:4]}: {why}",
        ),
    )
    door = cast("Door", SimpleNamespace(settings=None, new_run_id=lambda: "mcp-1"))

    async def run() -> list[tuple[str, str]]:
        producing = Producing()
        monkeypatch.setattr(agents, "produce", producing)
        CALLER.set("kim")
        calling = asyncio.create_task(
            agents.run(cast("OfferedTool", offered), ToolCall(door, {}, {}))
        )
        await asyncio.wait_for(producing.begun.wait(), 30)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        producing.let_go.set()
        await asyncio.wait_for(producing.all.wait(), 30)
        return producing.written

    assert asyncio.run(run()) == [
        ("call", "kim"),
        ("cancel of mcp-: the client went away", "kim"),
    ]
