"""What a run makes of other agents (Summit guide, 6.5)."""

from __future__ import annotations

import asyncio
from concurrent.futures import CancelledError
from typing import Any

import pytest

from streams.errors import ProduceUnknown
from streams.summit.errors import CallRejected
from streams.summit.serving.run import Run, ThreadRun
from tests.unit.summit.support import Agent, invoke, stop

Json = dict[str, Any]
WAYS = ("async", "thread")


def test_the_trace_context_goes_on() -> None:
    context = f"00-{'a' * 32}-{'b' * 16}-01"

    async def handler(inputs: Json, run: Run) -> Json:
        return await run.invoke("b", {})

    async def story(agent: Agent) -> None:
        agent.sent.results = {"run-1.1": {}, "run-2.1": {}}
        agent.inbox.put(invoke("run-1"), headers=[("traceparent", context.encode())])
        await agent.await_finals("run-1")
        assert agent.sent.traces == [context] * 3, "of two replies and of the call between them"
        agent.inbox.put(invoke("run-2"))
        await agent.await_finals("run-2")
        assert agent.sent.traces[3:] == [None] * 3

    Agent(handler).tell(story)


def test_sub_runs_are_numbered_in_the_order_of_the_calls() -> None:
    context = {"traceId": "tr-9c"}

    async def handler(inputs: Json, run: Run) -> Json:
        first = run.invoke("b", {"q": 1})
        second = run.call_tool("b", "slugify", {"t": 2}, budget={"usd": 1})
        results = await asyncio.gather(second, first)  # the order of waiting is of no matter
        return {"found": results}

    async def story(agent: Agent) -> None:
        agent.sent.results = {"run-1.1": {"status": "completed"}, "run-1.2": {"id": "x"}}
        agent.inbox.put(invoke("run-1", context=context))
        await agent.await_finals("run-1")
        outputs = agent.sent.final("run-1")["output"]["found"]
        assert outputs == [{"id": "x"}, {"status": "completed"}]
        calls = sorted(agent.sent.calls, key=lambda call: str(call[1]["runId"]))
        whole = {"traceId": "tr-9c", "parentRunId": "run-1"}
        tool_call = {"id": "run-1.2", "name": "slugify", "arguments": {"t": 2}}
        assert calls == [
            (
                "agent.invoke",
                {"agentId": "b", "runId": "run-1.1", "context": whole, "inputs": {"q": 1}},
                "word-stats",
            ),
            (
                "tool.call",
                {
                    "agentId": "b",
                    "runId": "run-1.2",
                    "context": {**whole, "budget": {"usd": 1}},
                    "toolCall": tool_call,
                },
                "word-stats",
            ),
        ]

    Agent(handler).tell(story)


def test_a_handler_in_a_thread_waits_for_its_sub_runs() -> None:
    def handler(inputs: Json, run: ThreadRun) -> Json:
        status = run.invoke("b", {})["status"]
        try:
            run.call_tool("b", "slugify", {})
        except CallRejected as exc:
            return {"first": status, "second": exc.rule}
        return {}

    async def story(agent: Agent) -> None:
        rejected = CallRejected("agent.unknown", "no agent")
        agent.sent.results = {"run-1.1": {"status": "failed"}, "run-1.2": rejected}
        agent.inbox.put(invoke("run-1"))
        await agent.await_finals("run-1")
        assert agent.sent.final("run-1")["output"] == {"first": "failed", "second": "agent.unknown"}
        assert [call[1]["context"] for call in agent.sent.calls] == [{"parentRunId": "run-1"}] * 2

    Agent(handler).tell(story)


@pytest.mark.parametrize("way", WAYS)
def test_a_stop_ends_the_wait_for_a_sub_run(way: str) -> None:
    ended: list[type[BaseException]] = []

    async def handler(inputs: Json, run: Run) -> Json:
        try:
            return await run.invoke("b", {})
        except BaseException as exc:
            ended.append(type(exc))
            raise

    def blocking(inputs: Json, run: ThreadRun) -> Json:
        try:
            return run.invoke("b", {})
        except BaseException as exc:
            ended.append(type(exc))
            raise

    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1"))
        await agent.until(lambda: agent.sent.calls)
        agent.inbox.put(stop("run-1"))
        await agent.until(lambda: ended)
        await agent.committed(2)
        assert [reply["replyId"] for reply in agent.sent.replies] == ["start"]

    Agent(handler if way == "async" else blocking).tell(story)
    assert ended == [asyncio.CancelledError if way == "async" else CancelledError]


def test_a_sub_run_is_asked_for_again_when_nobody_knows_what_became_of_the_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("streams.summit.serving.job._PAUSE_S", 0)

    async def handler(inputs: Json, run: Run) -> Json:
        return await run.invoke("b", {})

    async def story(agent: Agent) -> None:
        agent.sent.results = {"run-1.1": ProduceUnknown("who knows")}
        agent.inbox.put(invoke("run-1"))
        await agent.until(lambda: len(agent.sent.calls) > 2)
        agent.sent.results = {"run-1.1": {"status": "completed"}}
        await agent.await_finals("run-1")
        assert {call[1]["runId"] for call in agent.sent.calls} == {"run-1.1"}

    Agent(handler).tell(story)
