"""Failures with an agent's own code, and provenance with more members (Summit guide, 6.5)."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.summit import check_reply
from streams.errors import InvalidInput
from streams.summit.errors import AgentError
from streams.summit.serving.handlers import AgentResult
from streams.summit.serving.run import Run
from tests.unit.summit.support import Agent, invoke

Json = dict[str, Any]


def _refuse_invalid(reply: Json) -> Exception | None:
    problems = check_reply(reply)
    return InvalidInput(problems) if problems else None


def test_an_agent_fails_a_run_with_its_own_code() -> None:
    async def handler(inputs: Json, run: Run) -> Json:
        run.charge(tokens=3)
        raise AgentError(7, "no such account", {"account": "a-1"}, {"system": "ledger"})

    async def story(agent: Agent) -> None:
        agent.sent.refuse = _refuse_invalid
        agent.inbox.put(invoke("run-1"))
        await agent.await_finals("run-1")
        final = agent.sent.final("run-1")
        error = {"code": 7, "message": "no such account", "data": {"account": "a-1"}}
        assert (final["status"], final["error"]) == ("failed", error)
        assert final["metrics"]["tokens"] == 3
        assert final["provenance"].keys() == {"model", "timestamp", "system"}

    Agent(handler).tell(story)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (AgentError(-32000, "reserved"), "must not be from -32768 to -32000"),
        (AgentError(2**31, "no 32 bits"), "must be an integer of 32 bits"),
        (AgentError(7, "large", "x" * 20_000), "/error/data"),
        (AgentError(7, "large", provenance={"system": "x" * 20_000}), "/provenance"),
    ],
)
def test_a_failure_out_of_bounds_is_an_error_with_code_1(error: AgentError, message: str) -> None:
    async def handler(inputs: Json, run: Run) -> Json:
        raise error

    async def story(agent: Agent) -> None:
        agent.sent.refuse = _refuse_invalid
        agent.inbox.put(invoke("run-1"))
        await agent.await_finals("run-1")
        final = agent.sent.final("run-1")
        assert final["error"]["code"] == 1
        assert message in final["error"]["message"]

    Agent(handler).tell(story)


@pytest.mark.parametrize(
    ("message", "sent"), [("", "AgentError: "), ("x" * 2001, "x" * 2000), ("\ud800", "?")]
)
def test_the_message_of_a_failure_is_sent_within_its_bounds(message: str, sent: str) -> None:
    async def handler(inputs: Json, run: Run) -> Json:
        raise AgentError(7, message)

    async def story(agent: Agent) -> None:
        agent.sent.refuse = _refuse_invalid
        agent.inbox.put(invoke("run-1"))
        await agent.await_finals("run-1")
        assert agent.sent.final("run-1")["error"] == {"code": 7, "message": sent}

    Agent(handler).tell(story)


def test_a_result_names_what_the_agent_has_asked() -> None:
    async def handler(inputs: Json, run: Run) -> AgentResult:
        return AgentResult({}, "small-1", provenance={"system": "ledger", "model": "other"})

    async def story(agent: Agent) -> None:
        agent.sent.refuse = _refuse_invalid
        agent.inbox.put(invoke("run-1"))
        await agent.await_finals("run-1")
        provenance = agent.sent.final("run-1")["provenance"]
        assert (provenance["model"], provenance["system"]) == ("small-1", "ledger")

    Agent(handler).tell(story)
