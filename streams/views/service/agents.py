"""Counters of the verdicts on what each agent sent in each protocol.

| key                                      | value                                             |
|------------------------------------------|---------------------------------------------------|
| service agent, agent, protocol           | JSON: `AgentCounts`                               |
| service agents, last_at, agent, protocol | nothing                                           |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

import orjson

from streams.views.changes import WriteBatch
from streams.views.keys import key, text_key, texts_in
from streams.views.pages import Entries
from streams.views.reads import ReadOnlyStore, RowReader
from streams.views.service.verdicts import VERDICTS, Counted

AGENT, BY_TIME = key("service agent"), key("service agents")
_TIME_BYTES = 8


class AgentCounts(NamedTuple):
    """The verdicts on what an agent sent.

    last_at: when the latest one was made (ms).  last_rule: its rule; of several at that time the
    greatest text.
    """

    accepted: int
    duplicate: int
    rejected: int
    last_at: int
    last_rule: str

    def plus(self, other: AgentCounts) -> AgentCounts:
        """Return the counts of both."""
        last_at, last_rule = max(self[3:], other[3:])
        return AgentCounts(
            self.accepted + other.accepted,
            self.duplicate + other.duplicate,
            self.rejected + other.rejected,
            last_at,
            last_rule,
        )

    @classmethod
    def load(cls, row: bytes) -> Self:
        return cls(*orjson.loads(row))


class AgentRow(NamedTuple):
    agent: str
    protocol: str
    counts: AgentCounts


class AgentTally:
    """The verdicts of one batch by agent and protocol."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], dict[str, int]] = {}
        self._last: dict[tuple[str, str], tuple[int, str]] = {}

    def add(self, agent: str, protocol: str, counted: Counted) -> None:
        """Count a verdict."""
        name = (agent, protocol)
        counts = self._counts.get(name)
        if counts is None:
            counts = self._counts[name] = dict.fromkeys(VERDICTS, 0)
        counts[counted.verdict] += 1
        latest = (counted.at, counted.rule)
        if name not in self._last or latest > self._last[name]:
            self._last[name] = latest

    def write(self, rows: WriteBatch) -> None:
        """Add the counts to the rows."""
        keys = {name: _row_key(*name) for name in self._counts}
        rows.load(keys.values())
        for name, row_key in keys.items():
            last_at, last_rule = self._last[name]
            counts = AgentCounts(**self._counts[name], last_at=last_at, last_rule=last_rule)
            stored = rows.read(row_key)
            before = None if stored is None else AgentCounts.load(stored)
            total = counts if before is None else before.plus(counts)
            rows[row_key] = orjson.dumps(tuple(total))
            if before is not None and before.last_at != total.last_at:
                rows[_time_key(before, name)] = None
            rows[_time_key(total, name)] = b""


def _row_key(agent: str, protocol: str) -> bytes:
    return AGENT + text_key(agent) + text_key(protocol)


def _time_key(counts: AgentCounts, name: tuple[str, str]) -> bytes:
    return BY_TIME + key(counts.last_at) + text_key(name[0]) + text_key(name[1])


def latest_agents(
    view: ReadOnlyStore, matches: Callable[[str, str], bool], lowest: bytes = b""
) -> Callable[[bytes | None], Entries]:
    """Return the entries of the agents, the latest first; None for one that does not match.

    matches: takes agent and protocol.  lowest: the last key, inclusive.
    """

    def entries(before_key: bytes | None) -> Entries:
        for row_key, _ in view.scan(BY_TIME, before_key, reverse=True):
            if row_key < lowest:
                return
            if row_key == before_key:
                continue
            agent, protocol = texts_in(row_key[len(BY_TIME) + _TIME_BYTES :])
            yield row_key, _agent_row(view, agent, protocol) if matches(agent, protocol) else None

    return entries


def _agent_row(view: ReadOnlyStore, agent: str, protocol: str) -> AgentRow | None:
    (row,) = view.get_many([_row_key(agent, protocol)])
    return None if row is None else AgentRow(agent, protocol, AgentCounts.load(row))


def rows_of_agent(view: RowReader, agent: str) -> list[AgentRow]:
    """Return the counts of an agent in each protocol."""
    return [
        AgentRow(agent, texts_in(row_key[len(AGENT) :])[1], AgentCounts.load(row))
        for row_key, row in view.scan(AGENT + text_key(agent))
    ]
