"""A packet, and the facts about it."""

from __future__ import annotations

from schemas import encode
from streams.protocols.apc.fold import FOLD
from streams.replay.as_of.overlay import Rows
from streams.replay.as_of.query import AsOfQuery, value_of
from streams.replay.as_of.steps import Step
from streams.views.keys import key, position_at_end
from topology.apc import APC_EVENTS
from topology.keys import composite


def packet(looking: AsOfQuery) -> Rows:
    session_id, packet_id = looking.ids["session_id"], looking.ids["packet_id"].lower()
    own = key("state", session_id, packet_id)
    steps = _steps(looking, session_id, packet_id)
    count = looking.until(steps)
    row = looking.folded(FOLD, steps[:count], composite(session_id, packet_id))
    hidden: Rows = dict.fromkeys(step.row for step in steps[count:])
    return hidden | {own: None if row is None else encode(FOLD.table.record, row)}


def _steps(looking: AsOfQuery, session_id: str, packet_id: str) -> list[Step]:
    """In the order of their partition.  A timer's fact has the packet's position for its cause."""
    found = []
    for row_key, row in looking.view.scan(key("fact", session_id, packet_id)):
        _, partition, offset = position_at_end(row_key)
        fact = value_of(APC_EVENTS, row)
        own = looking.place(APC_EVENTS, partition, offset)
        cause = () if fact["verdict"] == "fired" else looking.caused(fact["cause"])
        found.append(Step(fact["at"], (own, *cause), APC_EVENTS, fact, row_key))
    return sorted(found, key=lambda step: step.places[0])
