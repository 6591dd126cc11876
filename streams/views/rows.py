"""From records to the rows of a view: what lies under which key.

| key                                          | value                                      |
|----------------------------------------------|--------------------------------------------|
| state, session_id, packet_id                 | ApcPacketState as on its topic             |
| fact, session_id, packet_id, place           | ApcEvent as on its topic                   |
| packet, session_id, packet_id                | JSON summary of the packet, from its verdict |
| all / session, id / run, id / id, … place    | key of that summary                        |
| event, session_id, sequence                  | RtesRecord as on its topic                 |
| rejection, session_id, partition, offset     | RtesRejection as on its topic              |
| task, session_id, [origin:]task_id           | SaopTask as on its topic                   |
| coordination, session_id, [agent_id]         | ApcCoordination as on its topic            |
| throttle, session, run, generation, protocol, swarm | ApcThrottle as on its topic         |
| protocol, protocol_id, [run_id]              | ApcLineage as on its topic                 |
| decision, place                              | ApcDecision as on its topic                |
| decision of, protocol_id, place              | key of that decision                       |
| edge, cause, partition, offset               | LineageEdge as on its topic                |
| lineage …                                    | see `streams.views.lineage`                |

A place is (time, partition, offset): log order.  A packet's is that of its own record, a fact's
that of the fact.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from schemas import Undecodable, decode_many
from schemas.apc import packet_json
from streams.engine.headers import CAUSE
from streams.engine.records import Record, header, position
from streams.views.changes import Changes
from streams.views.keys import key
from streams.views.lineage import apply as lineage
from streams.views.lineage import arbitrations
from topology import topics
from topology.declarations import Kind, Topic
from topology.keys import split

Apply = Callable[[Topic, Sequence[Record], Changes], None]

_log = logging.getLogger(__name__)


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


def _rejections(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
    for record in records:
        session_id = (record.key or b"").decode()
        rows[key("rejection", session_id, record.partition, record.offset)] = record.value


def _events(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
    for record, value in _decoded(topic, records):
        rows[key("event", value["session_id"], value["sequence"])] = record.value


def _throttles(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
    for record in records:
        session, run, generation, protocol, swarm = split((record.key or b"").decode())
        rows[key("throttle", session, run, int(generation), protocol, swarm)] = record.value


def _decisions(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
    for record, value in _decoded(topic, records):
        place = Place(value["at"], record.partition, record.offset)
        arbitrations.note(value, record.value or b"", place, rows)


def _edges(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
    for record, value in _decoded(topic, records):
        rows[key("edge", value["cause"], record.partition, record.offset)] = record.value


def _facts(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
    decoded = _decoded(topic, records)
    lineage.load([fact for _, fact in decoded], rows)
    for record, fact in decoded:
        if fact["packet_id"] is None:
            continue
        ids = (fact["session_id"], fact["packet_id"])
        place = Place(fact["at"], record.partition, record.offset)
        fact_key = key("fact", *ids, *place)
        rows[fact_key] = record.value
        lineage.moved(fact, rows)
        if fact["packet"] is not None and fact["verdict"] in ("accepted", "rejected"):
            _packet(fact, fact_key, rows)


def _packet(fact: Mapping[str, Any], fact_key: bytes, rows: Changes) -> None:
    """The summary of a packet that has a row of its own, and where to find it."""
    _, partition, offset = fact["cause"].rsplit("/", 2)
    place = Place(fact["at"], int(partition), int(offset))
    session_id, packet_id = fact["session_id"], fact["packet_id"]
    summary_key = key("packet", session_id, packet_id)
    packet = packet_json(fact["packet"])
    rows[summary_key] = orjson.dumps(_summary(fact, packet, place, fact_key))
    if fact["verdict"] == "accepted":
        lineage.accepted(fact, packet, place, rows)
    for index in (
        key("all", *place),
        key("session", session_id, *place),
        key("run", fact["run_id"] or "", *place),
        key("id", packet_id, *place),
    ):
        rows[index] = summary_key


def _summary(
    fact: Mapping[str, Any], packet: Mapping[str, Any], place: Place, fact_key: bytes
) -> dict[str, Any]:
    metadata = packet.get("metadata")
    attempt = metadata.get("attempt_number") if isinstance(metadata, dict) else None
    return {
        "session_id": fact["session_id"],
        "packet_id": fact["packet_id"],
        "task_id": fact["task_id"],
        "run_id": fact["run_id"],
        "attempt_number": attempt if isinstance(attempt, int) else 0,
        "packet_type": packet["packet_type"],
        "channel": packet["channel"],
        "run_phase": packet["run_phase"],
        "sender_role": packet["sender"]["role"],
        "trace_id": fact["trace_id"],
        "payload_keys": sorted(packet["payload"]),
        "place": list(place),
        "fact": fact_key.hex(),
    }


def _decoded(topic: Topic, records: Sequence[Record]) -> list[tuple[Record, dict[str, Any]]]:
    """Records with their values; one that nobody can read is left out, with a warning."""
    assert topic.record is not None
    found = []
    decoded = decode_many([record.value for record in records], topic.record)
    for record, value in zip(records, decoded, strict=True):
        if isinstance(value, Undecodable):
            _log.warning("%s is no %s: %s", position(record), topic.record, value)
        else:
            found.append((record, value.value))
    return found


FOLLOWED: Mapping[str, Apply | None] = {
    topics.APC_EVENTS.name: _facts,
    topics.APC_PACKET_STATES.name: _table("state"),
    topics.APC_COORDINATION.name: _table("coordination"),
    topics.APC_THROTTLING.name: _throttles,
    topics.APC_LINEAGE.name: _table("protocol"),
    topics.APC_DECISIONS.name: _decisions,
    topics.LINEAGE_EDGES.name: _edges,
    topics.RTES_EVENTS.name: _events,
    topics.RTES_REJECTIONS.name: _rejections,
    topics.SAOP_TASKS.name: _table("task"),
    topics.APC_PACKETS_DLQ.name: None,
    topics.RTES_RAW_DLQ.name: None,
}
"""What a view reads, and how; of dead letters it only notes what they answer."""


def answered(topic: Topic, records: Sequence[Record]) -> dict[tuple[str, int], int]:
    """The last offset of each input partition that these records answer.

    A task judges a partition in order, so all offsets below it are answered on the log too.
    """
    latest: dict[tuple[str, int], int] = {}
    if topic.kind not in (Kind.FACT, Kind.DEAD_LETTER):
        return latest
    for record in records:
        cause = header(record, CAUSE)
        if cause is not None and cause.count(b"/") == 2:
            name, partition, offset = cause.decode().split("/")
            source = (name, int(partition))
            latest[source] = max(latest.get(source, -1), int(offset))
    return latest
