"""Pings: `ping.states`, of `ping.answers`."""

from __future__ import annotations

from streams.protocols.ping.processor import evolve
from streams.replay.fold.fold import Commands, Fact, Fold, Row
from topology.declarations import Topic
from topology.ping import PING_ANSWERS, PING_STATES_TABLE


def _row_key(topic: Topic, fact: Fact) -> str:
    return str(fact["ping_id"])


def _step(row: Row | None, topic: Topic, fact: Fact, commands: Commands) -> Row:
    return evolve(row, fact)


FOLDING = Fold(PING_STATES_TABLE, (PING_ANSWERS,), _row_key, _step)
