"""What an agent replies, by what its handlers return and raise (Summit guide, 6.5)."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from schemas import Problem
from schemas.summit import check_reply
from streams.errors import InvalidInput
from streams.summit.errors import BudgetExceeded, CallRejected
from streams.summit.serving.handlers import AgentResult
from streams.summit.serving.run import Run, ThreadRun
from tests.unit.summit.support import DUE_MS, Agent, invoke, tool, words

Json = dict[str, Any]
NO_COST = {"tokens": 0, "cost_usd": 0}
WAYS = ("async", "thread")


def in_a_thread(inputs: Json, run: ThreadRun) -> Json:
    assert threading.current_thread() is not threading.main_thread()
    return {"words": len(inputs["text"].split())}


@pytest.mark.parametrize("handler", [words, in_a_thread])
def test_a_run_is_answered_with_start_and_final(handler: Any) -> None:
    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1", {"text": "to be or not to be"}))
        await agent.committed(1)
        start, final = agent.sent.replies
        assert start == {
            "replyId": "start",
            "runId": "run-1",
            "agentId": "word-stats",
            "kind": "progress",
            "metrics": NO_COST,
        }
        assert (final["replyId"], final["kind"], final["output"]) == (
            "final",
            "result",
            {"words": 6},
        )
        assert final["provenance"]["model"] == "none"
        assert final["provenance"]["timestamp"].endswith("Z")
        assert final["metrics"].keys() == {"tokens", "cost_usd", "latency_ms"}
        assert check_reply(start) == check_reply(final) == []

    Agent(handler).tell(story)


def test_the_start_of_a_repeated_delivery_says_the_same() -> None:
    """So that the service takes it for one."""
    starts = []

    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1", {"text": "a"}))
        await agent.await_finals("run-1")
        starts.append(agent.sent.replies[0])

    for _ in range(2):
        Agent(words).tell(story)
    assert starts[0] == starts[1]


def test_a_handler_may_say_more_than_the_output() -> None:
    verification = {"score": 0.5, "checks": [{"name": "tone", "passed": True}]}

    async def handler(inputs: Json, run: Run) -> AgentResult:
        run.charge(tokens=10, cost_usd=0.25)
        return AgentResult({"a": 1}, "gpt-4o", {"tokens": 7, "latency_ms": 12000}, verification)

    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1"))
        await agent.await_finals("run-1")
        final = agent.sent.final("run-1")
        assert final["metrics"] == {"tokens": 10, "cost_usd": 0.25, "latency_ms": 12000}
        assert final["provenance"]["model"] == "gpt-4o"
        assert final["verification"] == {**verification, "status": "passed"}
        assert check_reply(final) == []

    Agent(handler).tell(story)


@pytest.mark.parametrize(
    ("passed", "claimed", "status"),
    [
        ([True, True], None, "passed"),
        ([True, False], None, "failed"),
        ([True, False], "passed", "passed"),
        ([True], "flagged", "flagged"),
    ],
)
def test_a_status_follows_from_checks_alone(
    passed: list[bool], claimed: str | None, status: str
) -> None:
    """A claim goes out as it is made; the service judges it."""
    checks = [{"name": f"c{n}", "passed": one} for n, one in enumerate(passed)]
    verification = {"checks": checks} if claimed is None else {"checks": checks, "status": claimed}

    async def handler(inputs: Json, run: Run) -> AgentResult:
        return AgentResult({}, verification=verification)

    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1"))
        await agent.await_finals("run-1")
        assert agent.sent.final("run-1")["verification"]["status"] == status

    Agent(handler).tell(story)


class Odd(Exception):
    def __str__(self) -> str:
        raise RuntimeError("it cannot say")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("no such word"), "ValueError: no such word"),
        (KeyError("x"), "KeyError: 'x'"),
        (ValueError("y" * 5000), "ValueError: " + "y" * 1988),
        (ValueError("\ud800"), "ValueError: ?"),
        (Odd(), "Odd"),
        (CallRejected("agent.unknown", "no agent", {}, -32004), "CallRejected: no agent"),
    ],
)
@pytest.mark.parametrize("way", WAYS)
def test_an_exception_becomes_an_error_reply(error: Exception, message: str, way: str) -> None:
    def blocking(inputs: Json, run: ThreadRun) -> Json:
        raise error

    async def handler(inputs: Json, run: Run) -> Json:
        raise error

    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1"))
        await agent.committed(1)
        final = agent.sent.final("run-1")
        assert (final["kind"], final["status"]) == ("error", "failed")
        assert final["error"] == {"code": 1, "message": message}
        assert check_reply(final) == []

    Agent(handler if way == "async" else blocking).tell(story)


@pytest.mark.parametrize("way", WAYS)
def test_a_charge_that_breaks_the_budget_ends_the_run(way: str) -> None:
    went_on: list[str] = []

    def spend(run: Run | ThreadRun) -> Json:
        run.charge(cost_usd=0.1)
        run.charge(cost_usd=0.1)
        run.charge(tokens=5, cost_usd=0.1)  # together 0.3 is no more than 0.3
        went_on.append("at the limit")
        run.charge(cost_usd=0.01)
        went_on.append("over the limit")
        return {}

    async def handler(inputs: Json, run: Run) -> Json:
        return spend(run)

    def blocking(inputs: Json, run: ThreadRun) -> Json:
        return spend(run)

    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1", context={"budget": {"usd": 0.3}}))
        await agent.await_finals("run-1")
        final = agent.sent.final("run-1")
        assert (final["kind"], final["status"]) == ("error", "budget_exceeded")
        assert final["error"]["message"].startswith("BudgetExceeded: budget.usd: ")
        assert final["metrics"]["tokens"] == 5
        assert final["metrics"]["cost_usd"] == 0.31
        assert went_on == ["at the limit"]
        assert check_reply(final) == []

    Agent(handler if way == "async" else blocking).tell(story)


@pytest.mark.parametrize("budget", [None, {"seconds": 5}])
def test_without_a_limit_nothing_is_too_much(budget: Json | None) -> None:
    async def handler(inputs: Json, run: Run) -> Json:
        run.charge(tokens=10**9, cost_usd=10**5)
        return {}

    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1", context=None if budget is None else {"budget": budget}))
        await agent.await_finals("run-1")
        assert agent.sent.final("run-1")["kind"] == "result"

    Agent(handler).tell(story)


def test_tokens_have_a_limit_of_their_own() -> None:
    async def handler(inputs: Json, run: Run) -> Json:
        run.charge(tokens=3)
        with pytest.raises(BudgetExceeded, match=r"budget\.tokens: 4 spent, 3 allowed"):
            run.charge(tokens=1)
        with pytest.raises(ValueError, match="negative"):
            run.charge(tokens=-1)
        return {}

    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1", context={"budget": {"tokens": 3}}))
        await agent.await_finals("run-1")
        final = agent.sent.final("run-1")
        assert (final["kind"], final["metrics"]["tokens"]) == ("result", 4)

    Agent(handler).tell(story)


@pytest.mark.parametrize("way", WAYS)
def test_progress_is_numbered_and_carries_totals(way: str) -> None:
    async def handler(inputs: Json, run: Run) -> Json:
        run.charge(tokens=1)
        run.progress()
        run.charge(cost_usd=0.5)
        await run.progress("half way")
        return {}

    def blocking(inputs: Json, run: ThreadRun) -> Json:
        run.charge(tokens=1)
        run.progress()
        run.charge(cost_usd=0.5)
        run.progress("half way")
        return {}

    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1"))
        await agent.await_finals("run-1")
        ids = [reply["replyId"] for reply in agent.sent.replies]
        assert ids == ["start", "p1", "p2", "final"]
        first, second = agent.sent.replies[1:3]
        assert first["metrics"] == {"tokens": 1, "cost_usd": 0}
        assert "message" not in first
        assert (second["metrics"], second["message"]) == (
            {"tokens": 1, "cost_usd": 0.5},
            "half way",
        )
        assert all(check_reply(reply) == [] for reply in agent.sent.replies)

    Agent(handler if way == "async" else blocking).tell(story)


def test_a_message_that_is_none_is_an_error_of_the_handler() -> None:
    async def handler(inputs: Json, run: Run) -> Json:
        run.progress("x" * 2001)
        return {}

    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1"))
        await agent.await_finals("run-1")
        assert [reply["replyId"] for reply in agent.sent.replies] == ["start", "final"]
        assert agent.sent.final("run-1")["error"]["message"].startswith("InvalidInput: ")

    Agent(handler).tell(story)


@pytest.mark.parametrize("returned", [AgentResult({}, metrics=5), AgentResult({}, verification=5)])
def test_what_is_no_result_is_an_error_of_the_handler(returned: Any) -> None:
    async def handler(inputs: Json, run: Run) -> Any:
        return returned

    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1"))
        await agent.await_finals("run-1")
        assert agent.sent.final("run-1")["kind"] == "error"

    Agent(handler).tell(story)


def test_a_result_that_the_edge_refuses_is_an_error_of_the_handler() -> None:
    def refuse(reply: Json) -> Exception | None:
        refusal = InvalidInput([Problem("output.value", "/output", "It is not an object.")])
        return refusal if reply["kind"] == "result" else None

    async def story(agent: Agent) -> None:
        agent.sent.refuse = refuse
        agent.inbox.put(invoke("run-1", {"text": "a"}))
        await agent.committed(1)
        final = agent.sent.final("run-1")
        assert final["kind"] == "error"
        assert "output.value" in final["error"]["message"]

    Agent(words).tell(story)


def test_tools_are_called_by_name() -> None:
    async def slugify(arguments: Json, run: Run) -> str:
        return str(arguments["title"].lower().replace(" ", "-"))

    def size(arguments: Json, run: ThreadRun) -> AgentResult:
        return AgentResult(len(arguments["title"]), "none")

    async def story(agent: Agent) -> None:
        agent.inbox.put(
            tool("run-1", "slugify", {"title": "To Be"}),
            tool("run-2", "size", {"title": "To Be"}),
            tool("run-3", "gone", {"title": "To Be"}),
        )
        await agent.await_finals("run-1", "run-2", "run-3")
        assert agent.sent.final("run-1")["output"] == "to-be"
        assert agent.sent.final("run-2")["output"] == 5
        assert agent.sent.final("run-3")["error"]["message"].startswith("LookupError: ")

    Agent(words, slugify=slugify, size=size).tell(story)


def test_a_handler_is_told_what_the_call_says() -> None:
    seen: list[Any] = []
    context = {"traceId": "tr-9c", "parentRunId": "run-0", "budget": {"usd": 1, "seconds": 20}}

    async def handler(inputs: Json, run: Run) -> Json:
        seen.append((inputs, run))
        return {}

    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1", {"text": "a"}, context))
        agent.inbox.put(invoke("run-2", {"text": "a"}))
        await agent.await_finals("run-1", "run-2")

    Agent(handler).tell(story)
    (inputs, run), (_, other) = seen
    assert inputs == {"text": "a"}
    assert (run.run_id, run.agent_id, run.caller) == ("run-1", "word-stats", "desk-7")
    assert (run.trace_id, run.parent_run_id) == ("tr-9c", "run-0")
    assert run.budget == {"usd": 1, "seconds": 20}
    assert run.due_at == datetime.fromtimestamp(DUE_MS / 1000, UTC)
    assert (other.trace_id, other.parent_run_id, other.budget) == (None, None, None)
    assert other is not run
