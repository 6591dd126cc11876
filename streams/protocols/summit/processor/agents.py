"""The agents there are, as every task of a worker sees them.

A call lies in the partition of its run, its agent's manifests in that of the agent.  So agents
are looked up in the copy of `summit.agents` that the worker keeps of all partitions, and only
there: whether both happen to share a task makes no difference.  The copy is read to the end that
the topic has before each batch, and what a verdict saw of it stands in the fact.

Source: Summit 5.
"""

from __future__ import annotations

from typing import Any

from schemas.summit import rules
from streams.engine.processor import AvroValue, Copy, Work
from streams.protocols.summit.processor.rulings import Ruling, refuse
from topology.keys import composite, split
from topology.machines.summit_agent import AgentState
from topology.summit import SUMMIT_AGENTS_TABLE

_PATH = "/params/agentId"


class Fleet:
    """The current row of each agent, also of one that was withdrawn."""

    def __init__(self) -> None:
        self.rows: dict[str, AvroValue] = {}

    def update(self, key: str, row: AvroValue | None) -> None:
        if len(split(key)) > 1:
            return
        if row is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = row


def current(agent_id: str, work: Work) -> AvroValue | None:
    """The SummitAgent in force, or last in force, of an agent; not to be changed."""
    return _copy(work).index(Fleet).rows.get(agent_id)


def version(agent_id: str, version: str, work: Work) -> AvroValue | None:
    """The SummitAgent of a version that was accepted; not to be changed."""
    row = current(agent_id, work)
    if row is not None and row["version"] == version:
        return row
    return _copy(work).get(composite(agent_id, version))


def unusable(row: AvroValue | None, work: Work) -> Ruling | None:
    """Why the agent of this row takes no calls."""
    if row is None:
        return refuse(rules.AGENT_UNKNOWN.code, _PATH, agentsSeen=seen(work))
    if row["state"] != AgentState.REGISTERED:
        more = {**figures(row), "agentsSeen": seen(work)}
        return refuse(rules.AGENT_WITHDRAWN.code, _PATH, **more)
    return None


def figures(row: AvroValue) -> dict[str, Any]:
    """What a fact shows of the row that its verdict rests on."""
    return {"manifestVersion": row["version"], "manifestHash": row["manifestHash"]}


def seen(work: Work) -> list[int]:
    """How far the agents were read when they were last asked: a next offset per partition."""
    return _copy(work).indexed()


def _copy(work: Work) -> Copy:
    return work.copy(SUMMIT_AGENTS_TABLE)
