"""The verdicts that facts of `apc.events` say, for the rows about the whole service."""

from __future__ import annotations

from collections.abc import Mapping

from streams.engine.records import Record
from streams.protocols.apc.packet_summaries import FACTS, Summary
from streams.views.changes import WriteBatch
from streams.views.keys import key, text_key
from streams.views.service.verdicts import (
    DUPLICATE,
    NONE,
    VERDICTS,
    Counted,
    Explained,
    FactReading,
    Members,
    Subject,
)
from topology.apc import APC_EVENTS


def _count(record: Record, fact: Members, rows: WriteBatch) -> Counted:
    verdict = fact["verdict"]
    if verdict not in VERDICTS:
        return Counted(fact["at"], NONE, fact["rule"])
    agent = _sender(fact)
    if agent is None and verdict == DUPLICATE:
        agent = _first_sender(fact, rows)
    return Counted(fact["at"], verdict, fact["rule"], agent)


def _sender(fact: Members) -> str | None:
    if fact["packet"] is None:
        return None
    agent_id: str = fact["packet"]["sender"]["agent_id"]
    return agent_id


def _first_sender(fact: Members, rows: WriteBatch) -> str | None:
    """Return who sent the packet of which this is a duplicate; its fact is on this partition."""
    summary = rows.read(key("packet") + text_key(fact["packet_id"] or "") + key(fact["session_id"]))
    if summary is None:
        return None
    first = rows.read(Summary.load(summary).fact_key)
    return None if first is None else _sender(FACTS.of(first))


def _explain(record: Record, fact: Members) -> Explained:
    packet_id = fact["packet_id"]
    if packet_id is None:
        return Explained(fact["message"], fact["fault"], None, fact["packet_type"])
    title = f"{fact['packet_type']} {packet_id[:8]}"
    return Explained(fact["message"], fact["fault"], f"apc:packet:{packet_id}", title)


VERDICT_FACTS: Mapping[str, FactReading] = {
    APC_EVENTS.name: FactReading(
        subject=Subject.COMMANDS, projection=FACTS, count=_count, explain=_explain
    )
}
"""By fact topic."""
