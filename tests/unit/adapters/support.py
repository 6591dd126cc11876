"""One run of an agent whose handler an adapter has made."""

from __future__ import annotations

from typing import Any

from schemas.summit import check_reply
from streams.summit.serving.job import Handler
from tests.unit.summit.support import Agent, invoke

Json = dict[str, Any]


def replies_of(handler: Handler, inputs: Json, budget: Json | None = None) -> list[Json]:
    """Return the replies of one run from start to final; all are as Summit wants them."""
    replies: list[Json] = []

    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1", inputs, budget and {"budget": budget}))
        await agent.await_finals("run-1")
        replies.extend(agent.sent.of("run-1"))

    Agent(handler).tell(story)
    assert [check_reply(reply) for reply in replies] == [[]] * len(replies)
    return replies


def final_of(handler: Handler, inputs: Json, budget: Json | None = None) -> Json:
    return replies_of(handler, inputs, budget)[-1]


def made(final: Json) -> Json:
    """The members of its provenance that an adapter makes."""
    return {name: of for name, of in final["provenance"].items() if name != "timestamp"}
