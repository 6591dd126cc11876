"""The state of a packet, and the facts about it, as of an earlier time."""

from __future__ import annotations

from schemas import encode
from streams.protocols.apc.fold import FOLD
from streams.replay.as_of.overlay import Rows
from streams.replay.as_of.query import AsOfQuery, value_of
from streams.replay.as_of.steps import Step
from streams.views.keys import key, position_at_end
from topology.apc import APC_EVENTS
from topology.keys import composite


def packet(query: AsOfQuery) -> Rows:
    session_id, packet_id = query.ids["session_id"], query.ids["packet_id"].lower()
    row_key = key("state", session_id, packet_id)
    steps = _steps(query, session_id, packet_id)
    count = query.until(steps)
    row = query.folded(FOLD, steps[:count], composite(session_id, packet_id))
    hidden: Rows = dict.fromkeys(step.row for step in steps[count:])
    return hidden | {row_key: None if row is None else encode(FOLD.table.record, row)}


def _steps(query: AsOfQuery, session_id: str, packet_id: str) -> list[Step]:
    """Return the packet's facts in the order of their partition.

    The cause of a timer's fact is the packet's position, so it adds no position of its own.
    """
    steps = []
    for row_key, row in query.view.scan(key("fact", session_id, packet_id)):
        _, partition, offset = position_at_end(row_key)
        fact = value_of(APC_EVENTS, row)
        position = query.position_of(APC_EVENTS, partition, offset)
        cause = () if fact["verdict"] == "fired" else query.caused(fact["cause"])
        steps.append(Step(fact["at"], (position, *cause), APC_EVENTS, fact, row_key))
    return sorted(steps, key=lambda step: step.places[0])
