"""From records to the rows of a view: what lies under which key.

| key                                          | value                                      |
|----------------------------------------------|--------------------------------------------|
| state, session_id, packet_id                 | ApcPacketState as on its topic             |
| fact, session_id, packet_id, place           | ApcEvent as on its topic                   |
| packet, packet_id, session_id                | `packets.Summary`, from the packet's verdict |
| all / session, id / run, id, … place         | key of that summary                        |
| coordination, session_id, [agent_id]         | ApcCoordination as on its topic            |
| throttle, session, run, generation, protocol, swarm | ApcThrottle as on its topic         |
| protocol, protocol_id, [run_id]              | ApcLineage as on its topic                 |
| decision, place                              | ApcDecision as on its topic                |
| decision of, protocol_id, place              | key of that decision                       |
| edge, cause, partition, offset               | LineageEdge as on its topic                |
| graph …                                      | see `streams.views.graph.index`            |
| lineage …                                    | see `streams.views.lineage`                |
| all of SAOP and RTES                         | see `streams.views.saop.rows`              |
| all of SAP                                   | see `streams.views.sap.rows`               |
| all of ASAP                                  | see `streams.views.asap.rows`              |
| all of Summit                                | see `streams.views.summit.rows`            |

A place is (time, partition, offset): log order.  A packet's is that of its own record, a fact's
that of the fact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from schemas.projection import Projection
from streams.engine.headers import CAUSE
from streams.engine.records import Record, header
from streams.views import asap, graph, saop, sap, summit
from streams.views.changes import Changes
from streams.views.decoded import decoded
from streams.views.keys import key, place_key, text_key
from streams.views.lineage import apply as lineage
from streams.views.lineage import arbitrations
from streams.views.packets import FACTS, summary_of, told
from streams.views.positions import Position
from topology import topics
from topology.declarations import Kind, Topic
from topology.keys import split

Apply = Callable[[Topic, Sequence[Record], Changes], None]

_FACT, _PACKET, _EDGE = key("fact"), key("packet"), key("edge")
_ALL, _SESSION, _RUN = key("all"), key("session"), key("run")
_DECISIONS = Projection(topics.APC_DECISIONS.record or "", ("protocol_id", "at", "arbitration"))


class Place(NamedTuple):
    """Where a record stands in log order; at in ms."""

    at: int
    partition: int
    offset: int


def _table(name: str) -> Apply:
    def apply(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
        for record in records:
            parts = split((record.key or b"").decode())
            rows[key(name, *parts)] = record.value

    return apply


def _throttles(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
    for record in records:
        session, run, generation, protocol, swarm = split((record.key or b"").decode())
        rows[key("throttle", session, run, int(generation), protocol, swarm)] = record.value


def _decisions(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
    for record, value in decoded(topic, records, _DECISIONS):
        place = Place(value["at"], record.partition, record.offset)
        arbitrations.note(value, record.value or b"", place, rows)


def _edges(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
    found = []
    for record, value in decoded(topic, records, graph.EDGES):
        own = _EDGE + text_key(value["cause"]) + key(record.partition, record.offset)
        rows[own] = record.value
        found.append((value, own))
    graph.note(found, rows)


def _facts(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
    facts = decoded(topic, records, FACTS)
    lineage.load([fact for _, fact in facts], rows)
    for record, fact in facts:
        if fact["packet_id"] is None:
            continue
        place = (fact["at"], record.partition, record.offset)
        ids = key(fact["session_id"]) + text_key(fact["packet_id"])
        rows[_FACT + ids + place_key(*place)] = record.value
        verdict = fact["verdict"]
        if verdict in ("accepted", "rejected"):
            if fact["packet"] is not None:
                _packet(fact, place, rows)
        else:
            lineage.moved(fact, rows)


def _packet(fact: Mapping[str, Any], own: tuple[int, int, int], rows: Changes) -> None:
    """The summary of a packet that has a row of its own, and where to find it."""
    _, partition, offset = fact["cause"].rsplit("/", 2)
    place = (fact["at"], int(partition), int(offset))
    session = key(fact["session_id"])
    summary_key = _PACKET + text_key(fact["packet_id"]) + session
    rows[summary_key] = summary_of(fact, place, own).dump()
    at = place_key(*place)
    rows[_ALL + at] = rows[_SESSION + session + at] = summary_key
    rows[_RUN + key(fact["run_id"] or "") + at] = summary_key
    if fact["verdict"] == "accepted" and (packet := told(fact["packet"])) is not None:
        lineage.accepted(fact, packet, place, rows)


FOLLOWED: Mapping[str, Apply | None] = {
    topics.APC_EVENTS.name: _facts,
    topics.APC_PACKET_STATES.name: _table("state"),
    topics.APC_COORDINATION.name: _table("coordination"),
    topics.APC_THROTTLING.name: _throttles,
    topics.APC_LINEAGE.name: _table("protocol"),
    topics.APC_DECISIONS.name: _decisions,
    topics.LINEAGE_EDGES.name: _edges,
    topics.APC_PACKETS_DLQ.name: None,
    topics.RTES_RAW_DLQ.name: None,
    **saop.FOLLOWED,
    **sap.FOLLOWED,
    **asap.FOLLOWED,
    **summit.FOLLOWED,
}
"""What a view reads, and how; of dead letters it only notes what they answer."""


def answer_row(position: Position) -> bytes | None:
    """The row that the answer to a record writes, where later records may be answered earlier.

    position: with the topic's name without prefix.  None for other topics: there an answer stands
    for all offsets below.
    """
    if position.topic == topics.ASAP_ENVELOPES.name:
        return asap.verdict_key(position.partition, position.offset)
    return None


def answered(topic: Topic, records: Sequence[Record]) -> dict[tuple[str, int], int]:
    """The last offset of each input partition that these records answer.

    A task judges a partition in order, so all offsets below it are answered on the log too, but
    for records that it holds (`answer_row`).
    """
    if topic.kind not in (Kind.FACT, Kind.DEAD_LETTER):
        return {}
    latest: dict[bytes, int] = {}
    for record in records:
        cause = header(record, CAUSE)
        if cause is not None:
            source, _, offset = cause.rpartition(b"/")
            if offset.isdigit() and int(offset) > latest.get(source, -1):
                latest[source] = int(offset)
    found = {}
    for source, last in latest.items():
        name, _, partition = source.decode().partition("/")
        if partition.isdecimal():  # else a timer's
            found[name, int(partition)] = last
    return found
