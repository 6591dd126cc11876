"""Tests of the Summit agent that calls a real MCP server, without a broker."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import MCPError

from schemas.formats import iso_ms
from schemas.summit import check_reply
from streams.agents.mcp import pins as pins_module
from streams.agents.mcp.journal import CallJournal
from streams.agents.mcp.pins import Pins, pins_of
from streams.agents.mcp.summit import SummitBridge
from streams.doors.mcp import foreign_http
from streams.doors.mcp.foreign_calls import MAX_RESULT_BYTES, CallFailed, tool_output
from streams.doors.mcp.foreign_manifest import manifest_of
from streams.summit.errors import AgentError
from streams.summit.serving.handlers import AgentResult, error_reply
from streams.summit.serving.job import Handlers
from streams.summit.serving.run import Run
from tests.unit.agents.mcp.server import CountingServer, session_of, summit_bridge, text_result
from tests.unit.summit.support import tool

Json = dict[str, Any]
FAR_MS = 4_000_000_000_000
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Progress:
    """A run's host: it collects the progress replies."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def progress(self, reply: Json) -> Awaitable[None]:
        self.messages.append(reply["message"])
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    async def call_agent(self, method: str, params: Json) -> Json:
        raise AssertionError("a bridge calls no agent")


def run_of(run_id: str, host: Progress | None = None, due_ms: int = FAR_MS) -> Run:
    call = tool(run_id, "pay", {})
    call["delivery"]["dueAt"] = iso_ms(due_ms)
    return Run(call, host or Progress(), TRACE)


async def failure_of(bridge: SummitBridge, run: Run, name: str = "pay") -> AgentError:
    """Return what a run fails with, which a reply must be able to carry."""
    with pytest.raises(AgentError) as caught:
        await bridge.invoke({"tool": name, "arguments": {}}, run)
    error = caught.value
    charged = {"tokens": 0, "cost_usd": 0}
    members = error_reply(error, charged, 1.0, "2026-01-01T00:00:00Z")
    reply = {"runId": "r", "agentId": "payments", "replyId": "final", **members}
    assert check_reply(reply) == []
    return error


def bridged(
    server: CountingServer, path: Path, story: Callable[[SummitBridge], Awaitable[Any]]
) -> Any:
    async def play() -> Any:
        async with summit_bridge(server, path) as (bridge, _):
            return await story(bridge)

    return asyncio.run(play())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.jsonl"


def test_a_run_is_one_call_of_the_tool(path: Path) -> None:
    server = CountingServer()

    async def story(bridge: SummitBridge) -> AgentResult:
        function = bridge.tools["pay"]
        result: AgentResult = await function({"amount": 3}, run_of("run-1"))
        return result

    result = bridged(server, path, story)
    assert result.output == {
        "content": [{"type": "text", "text": "done"}],
        "structuredContent": {"arguments": {"amount": 3}, "none": None},
        "isError": False,
    }
    (mcp,) = result.provenance.values()
    assert (mcp["server"], mcp["version"], mcp["tool"]) == ("Payments", "1.2.3", "pay")
    assert server.calls == ["pay"]
    assert server.metas[0]["traceparent"] == TRACE


def test_a_call_without_an_answer_is_in_doubt_unless_it_may_be_repeated(path: Path) -> None:
    """Begin calls that get no answer, as a bridge does that is killed."""
    server = CountingServer()
    journal = CallJournal(path)
    asyncio.run(journal.begin("run-1"))
    asyncio.run(journal.begin("run-2"))
    journal.close()

    async def story(bridge: SummitBridge) -> tuple[AgentError, AgentResult]:
        error = await failure_of(bridge, run_of("run-1"))
        return error, await bridge.invoke({"tool": "look", "arguments": {}}, run_of("run-2"))

    error, result = bridged(server, path, story)
    assert (error.code, error.data["reason"]) == (9, "mcp_in_doubt")
    assert (server.calls, result.output["isError"]) == (["look"], False)


def test_a_call_is_in_the_journal_before_it_is_made(path: Path) -> None:
    async def look_up(ctx: Any, params: Any) -> types.CallToolResult:
        return text_result(path.read_text())

    result = bridged(
        CountingServer(look_up),
        path,
        lambda bridge: bridge.invoke({"tool": "pay", "arguments": {}}, run_of("run-1")),
    )
    assert '"run-1"' in result.output["content"][0]["text"]


def test_a_call_with_an_answer_on_the_log_is_not_made_again(path: Path) -> None:
    server = CountingServer()
    journal = CallJournal(path)
    asyncio.run(journal.begin("run-1"))
    journal.finish("run-1")
    journal.close()
    error = bridged(server, path, lambda bridge: failure_of(bridge, run_of("run-1"), "look"))
    assert (error.code, server.calls) == (9, [])


async def _fails(ctx: Any, params: Any) -> types.CallToolResult:
    return text_result("no money", is_error=True)


async def _fails_at_length(ctx: Any, params: Any) -> types.CallToolResult:
    return text_result("x" * 17_000, is_error=True)


async def _raises(ctx: Any, params: Any) -> types.CallToolResult:
    raise MCPError(code=-32001, message="no such account")


async def _is_large(ctx: Any, params: Any) -> types.CallToolResult:
    return text_result("x" * MAX_RESULT_BYTES)


async def _asks(ctx: Any, params: Any) -> Any:
    return types.InputRequiredResult(request_state="more")


FAILED = {"content": [{"type": "text", "text": "no money"}], "isError": True}


@pytest.mark.parametrize(
    ("answer", "code", "data"),
    [
        (_fails, 1, {"reason": "mcp_tool_error", "mcp": FAILED}),
        (
            _fails_at_length,
            1,
            {"reason": "mcp_tool_error", "mcp": {"isError": True, "truncated": True}},
        ),
        (_raises, 2, {"reason": "mcp_error", "code": -32001, "message": "no such account"}),
        (_is_large, 5, {"reason": "mcp_too_large"}),
        (_asks, 7, {"reason": "mcp_input_required"}),
    ],
)
def test_a_call_fails_with_its_code(path: Path, answer: Any, code: int, data: Json) -> None:
    server = CountingServer(answer)
    error = bridged(server, path, lambda bridge: failure_of(bridge, run_of("run-1")))
    assert (error.code, error.data) == (code, data)
    assert error.provenance["mcp"]["tool"] == "pay"


@pytest.mark.parametrize("value", [float("inf"), float("nan"), "\ud800"])
def test_a_result_that_is_no_ijson_is_refused(value: Any) -> None:
    result = text_result("", structured_content={"n": value})
    with pytest.raises(CallFailed) as caught:
        tool_output(result)
    assert caught.value.failure.reason == "mcp_not_ijson"


def test_a_response_is_read_up_to_a_bound_and_the_next_one_too(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign_http, "MOST_BYTES", 50_000)

    async def answer(ctx: Any, params: Any) -> types.CallToolResult:
        return text_result("x" * params.arguments["size"])

    async def story(bridge: SummitBridge) -> tuple[AgentError, AgentResult]:
        function = bridge.tools["pay"]
        with pytest.raises(AgentError) as caught:
            await function({"size": 60_000}, run_of("run-1"))
        for number in range(3):
            result = await function({"size": 30_000}, run_of(f"run-2-{number}"))
        return caught.value, result

    error, result = bridged(CountingServer(answer), path, story)
    assert "50000 bytes" in str(error)
    assert len(result.output["content"][0]["text"]) == 30_000


def test_a_call_ends_with_the_time_of_its_run(path: Path) -> None:
    async def never(ctx: Any, params: Any) -> types.CallToolResult:
        await asyncio.Event().wait()
        raise AssertionError

    error = bridged(
        CountingServer(never), path, lambda bridge: failure_of(bridge, run_of("run-1", due_ms=0))
    )
    assert (error.code, error.data["reason"]) == (4, "mcp_timeout")


def test_progress_of_the_server_is_progress_of_the_run_once_a_second(path: Path) -> None:
    async def report(ctx: Any, params: Any) -> types.CallToolResult:
        await ctx.session.report_progress(1, 4, "begun")
        await ctx.session.report_progress(2, 4, "half")
        return text_result("done")

    host = Progress()

    async def story(bridge: SummitBridge) -> None:
        await bridge.invoke({"tool": "pay", "arguments": {}}, run_of("run-1", host))

    bridged(CountingServer(report), path, story)
    assert host.messages == ["1 of 4: begun"]


def test_a_stopped_run_cancels_its_call(path: Path) -> None:
    cancelled = asyncio.Event()
    begun = asyncio.Event()

    async def wait(ctx: Any, params: Any) -> types.CallToolResult:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    async def story(bridge: SummitBridge) -> None:
        working = asyncio.create_task(bridge.invoke({"tool": "pay", "arguments": {}}, run_of("r")))
        async with asyncio.timeout(30):
            while not begun.is_set():
                await asyncio.sleep(0.01)
            working.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await working
            while not cancelled.is_set():
                await asyncio.sleep(0.01)

    bridged(CountingServer(wait), path, story)
    assert cancelled.is_set()


def test_a_tool_that_has_changed_is_not_called_until_it_is_registered_anew(path: Path) -> None:
    server = CountingServer()

    async def play() -> tuple[AgentError, AgentResult]:
        async with session_of(server) as session:
            former, _ = manifest_of(await session.connect(), "payments", None)
            for tool_ in former["spec"]["tools"]:
                tool_["description"] = "What was registered."
            in_force = [pins_of(former)]

            async def read() -> dict[str, pins_module.Pin]:
                return in_force[0]

            journal = CallJournal(path)
            bridge = SummitBridge(session, journal, Pins(in_force[0], read), 30.0)
            error = await failure_of(bridge, run_of("run-1"))
            in_force[0] = pins_of(manifest_of(await session.describe(30.0), "payments", None)[0])
            result = await bridge.invoke({"tool": "pay", "arguments": {}}, run_of("run-2"))
            journal.close()
            return error, result

    error, result = asyncio.run(play())
    assert (error.code, error.data["reason"]) == (8, "mcp_changed")
    assert (server.calls, result.output["isError"]) == (["pay"], False)


def test_a_tool_that_was_registered_later_is_called(path: Path) -> None:
    server = CountingServer()

    async def play() -> tuple[AgentResult, AgentResult]:
        async with session_of(server) as session:
            later, _ = manifest_of(await session.connect(), "payments", None)
            former = {name: pin for name, pin in pins_of(later).items() if name == "pay"}

            async def read() -> dict[str, pins_module.Pin]:
                return pins_of(later)

            journal = CallJournal(path)
            bridge = SummitBridge(session, journal, Pins(former, read), 30.0)
            assert bridge.tools.keys() == {"pay"}
            function, _ = Handlers(bridge.invoke, bridge.tools).select(tool("run-1", "look", {}))
            called = await function({}, run_of("run-1"))
            bridge = SummitBridge(session, journal, Pins(former, read), 30.0)
            invoked = await bridge.invoke({"tool": "look", "arguments": {}}, run_of("run-2"))
            journal.close()
            return called, invoked

    results = asyncio.run(play())
    assert [each.output["isError"] for each in results] == [False, False]
    assert server.calls == ["look", "look"]
