"""The projection of APC's records to the rows of a view.

| key                                          | value                                      |
|----------------------------------------------|--------------------------------------------|
| state, session_id, packet_id                 | ApcPacketState as on its topic             |
| fact, session_id, packet_id, position        | ApcEvent as on its topic                   |
| packet, packet_id, session_id                | `packet_summaries.Summary`, from verdict   |
| all / session, id / run, id, … position      | key of that summary                        |
| coordination, session_id, [agent_id]         | ApcCoordination as on its topic            |
| throttle, session, run, generation, protocol, swarm | ApcThrottle as on its topic         |
| protocol, protocol_id, [run_id]              | ApcLineage as on its topic                 |
| decision, position                           | ApcDecision as on its topic                |
| decayed protocol, protocol_id                | nothing, while it is blocked               |
| prior, use_case, kind, strategy              | ApcPrior as on its topic                   |
| tried, use_case, … / evals of, session, …    | see `queries.priors`                       |
| decision of, protocol_id, position           | key of that decision                       |
| apc session, … / apc sessions, …             | see `queries.sessions`                     |
| teaching, … / transfer of, …                 | see `queries.lineage.teaching`             |
| lineage …                                    | see `queries.lineage`                      |

A position is (time, partition, offset): log order.  A packet's is that of its own record, a
fact's that of the fact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from schemas import Undecodable
from schemas.projection import Projection
from streams.engine.records import Record
from streams.protocols.apc.packet_summaries import FACTS, lineage_members, summary_of
from streams.protocols.apc.queries.lineage import tally as lineage
from streams.protocols.apc.queries.lineage.teaching import add_transfer
from streams.protocols.apc.queries.lineage.universe import store_decision
from streams.protocols.apc.queries.priors import index_evidence
from streams.protocols.apc.queries.sessions import count_sessions
from streams.views.changes import WriteBatch
from streams.views.decoded import decode_members
from streams.views.keys import key, position_key, text_key, texts_in
from streams.views.projection import Apply, table
from streams.views.reads import ReadOnlyStore
from streams.views.service.counters import Counts
from streams.views.service.open_work import OpenWork
from topology.apc import (
    APC_COORDINATION,
    APC_DECISIONS,
    APC_EVENTS,
    APC_INBOX,
    APC_LINEAGE,
    APC_PACKET_STATES,
    APC_PACKETS_DLQ,
    APC_PRIORS,
    APC_THROTTLING,
)
from topology.declarations import Topic
from topology.keys import split
from topology.machines.apc_packet import MACHINE

_FACT, _PACKET = key("fact"), key("packet")
_ALL, _SESSION, _RUN = key("all"), key("session"), key("run")
_DECAYED = key("decayed protocol")
MOST_DECAYED = 1000
_BLOCKED = Projection(APC_LINEAGE.record or "", ("protocol_id", "run_id", "blocked"))
PACKETS = OpenWork("apc", "packet", MACHINE.terminal)
_TRANSITIONS = Projection(APC_EVENTS.record or "", ("transitions",))
_DECISIONS = Projection(APC_DECISIONS.record or "", ("protocol_id", "at", "arbitration"))


class FactPosition(NamedTuple):
    """The position of a record in log order; at in ms."""

    at: int
    partition: int
    offset: int


def _throttles(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    for record in records:
        session, run, generation, protocol, swarm = split((record.key or b"").decode())
        rows[key("throttle", session, run, int(generation), protocol, swarm)] = record.value


def _decisions(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    for record, value in decode_members(topic, records, _DECISIONS):
        position = FactPosition(value["at"], record.partition, record.offset)
        store_decision(value, record.value or b"", position, rows)


def _protocols(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    """Write the sums of protocols, and list those that are blocked because they have decayed."""
    table("protocol")(topic, records, rows)
    for _, row in decode_members(topic, records, _BLOCKED):
        if row["run_id"] is None:
            rows[_DECAYED + text_key(row["protocol_id"])] = b"" if row["blocked"] else None


def decayed_protocols(view: ReadOnlyStore, counts: Counts) -> list[str]:
    """Return the ids of the protocols that have decayed, at most `MOST_DECAYED` of them."""
    row_keys = islice(view.scan(_DECAYED), MOST_DECAYED)
    return [texts_in(row_key[len(_DECAYED) :])[0] for row_key, _ in row_keys]


def _facts(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    facts = rows.shared[records[0].topic] = decode_members(topic, records, FACTS)
    lineage.load([fact for _, fact in facts], rows)
    for record, fact in facts:
        if fact["packet_id"] is None:
            continue
        position = (fact["at"], record.partition, record.offset)
        ids = key(fact["session_id"]) + text_key(fact["packet_id"])
        rows[_FACT + ids + position_key(*position)] = record.value
        verdict = fact["verdict"]
        if verdict in ("accepted", "rejected"):
            if fact["packet"] is not None:
                _packet(fact, record.value, position, rows)
        else:
            lineage.subtract_packet(fact, rows)
    _count_open(facts, rows)
    count_sessions((fact for _, fact in facts), rows)


def _count_open(facts: Sequence[tuple[Record, Mapping[str, Any]]], rows: WriteBatch) -> None:
    """Count the changes of packets' states, which their facts tell as their rows would."""
    later = []
    for record, fact in facts:
        if fact["verdict"] in ("accepted", "rejected"):
            PACKETS.move(None, fact["state"], rows)
        elif fact["state"] is not None:
            later.append(record.value)
    for members in _TRANSITIONS.many(later):
        if not isinstance(members, Undecodable) and (steps := members["transitions"]):
            PACKETS.move(steps[0]["from_state"], steps[-1]["to_state"], rows)


def _packet(
    fact: Mapping[str, Any],
    value: bytes | None,
    fact_position: tuple[int, int, int],
    rows: WriteBatch,
) -> None:
    """Store the summary of a packet that has a row, and its index entries.  value: the fact's."""
    _, partition, offset = fact["cause"].rsplit("/", 2)
    position = (fact["at"], int(partition), int(offset))
    session = key(fact["session_id"])
    summary_key = _PACKET + text_key(fact["packet_id"]) + session
    rows[summary_key] = summary_of(fact, position, fact_position).dump()
    suffix = position_key(*position)
    rows[_ALL + suffix] = rows[_SESSION + session + suffix] = summary_key
    rows[_RUN + key(fact["run_id"] or "") + suffix] = summary_key
    if fact["verdict"] == "accepted":
        index_evidence(fact, position, summary_key, rows)
    if fact["packet_type"] == "TRANSFER":
        add_transfer(fact, value, position, rows)
    if fact["verdict"] == "accepted" and (packet := lineage_members(fact["packet"])) is not None:
        lineage.add_packet(fact, packet, position, rows)


FOLLOWED: Mapping[str, Apply | None] = {
    APC_EVENTS.name: _facts,
    APC_PACKET_STATES.name: table("state"),
    APC_COORDINATION.name: table("coordination"),
    APC_THROTTLING.name: _throttles,
    APC_LINEAGE.name: _protocols,
    APC_PRIORS.name: table("prior"),
    APC_DECISIONS.name: _decisions,
    APC_INBOX.name: None,
    APC_PACKETS_DLQ.name: None,
}
"""The topics that a view reads; of messages and dead letters only their causes are used."""
