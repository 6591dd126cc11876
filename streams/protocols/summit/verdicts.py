"""The verdicts that facts of `summit.events` say, for the rows about the whole service."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.projection import Projection
from streams.engine.records import Record
from streams.views.changes import WriteBatch
from streams.views.service.verdicts import (
    NONE,
    VERDICTS,
    Counted,
    Explained,
    FactReading,
    Members,
    Subject,
)
from topology.keys import composite
from topology.summit import SUMMIT_EVENTS

FACTS = Projection(
    SUMMIT_EVENTS.record or "",
    (
        *("eventId", "subject", "verdict", "rule", "fault", "at", "runId", "agentId", "caller"),
        *("method", "replyKind", "toState", "manifestVersion", "message"),
    ),
)


def _count(record: Record, fact: Members, rows: WriteBatch) -> Counted:
    verdict = fact["verdict"]
    if verdict not in VERDICTS:
        return Counted(fact["at"], NONE, fact["rule"])
    return Counted(fact["at"], verdict, fact["rule"], _agent(fact))


def _agent(fact: Members) -> str | None:
    """Return who sent the record: an operator sends manifests, which name the agent."""
    agent: str | None
    match fact["subject"]:
        case "call":
            agent = fact["caller"]
        case "reply":
            agent = fact["agentId"]
        case _:
            agent = None
    return agent


def _explain(record: Record, fact: Members) -> Explained:
    node, title = _thing(fact)
    return Explained(fact["message"], fact["fault"], node, title)


def _thing(fact: Members) -> tuple[str | None, str | None]:
    """Return the node and the title of what the fact is about."""
    if fact["subject"] == "manifest":
        agent_id, version = fact["agentId"], fact["manifestVersion"]
        if agent_id is None or version is None:
            return None, f"manifest of {agent_id or 'an agent'}"
        node = f"summit:manifest:{composite(agent_id, version)}"
        return node, f"manifest {version} of {agent_id}"
    word = fact["method"] or fact["replyKind"] or fact["subject"]
    if fact["runId"] is None:
        return None, word
    return f"summit:run:{composite(fact['runId'])}", f"{word} of run {fact['runId']}"


VERDICT_FACTS: Mapping[str, FactReading] = {
    SUMMIT_EVENTS.name: FactReading(
        subject=Subject.COMMANDS, projection=FACTS, count=_count, explain=_explain
    )
}
"""By fact topic."""
