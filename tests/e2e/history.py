"""All that a run has left on the log, read once, in the form in which it is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from schemas import decode_many, to_json
from streams.engine.records import Record, position
from streams.engine.rows import store_key
from tests.e2e.outputs import Json, latest
from topology.apc import (
    APC_COORDINATION_TABLE,
    APC_DECISIONS,
    APC_EVENTS,
    APC_INBOX,
    APC_LINEAGE_TABLE,
    APC_PACKET_STATES_TABLE,
    APC_PACKETS,
    APC_PACKETS_DLQ,
    APC_PRIORS_TABLE,
    APC_TASK_FACTS,
    APC_THROTTLING_TABLE,
    APC_TRANSFERS,
    APC_TRANSFERS_DLQ,
)
from topology.core import CHANGELOG, LINEAGE_EDGES, RTES_RAW, TIMERS
from topology.declarations import Table, Topic
from topology.saop import (
    RTES_EVENTS,
    RTES_RAW_DLQ,
    RTES_REJECTIONS,
    RTES_SESSIONS,
    SAOP_TASKS_TABLE,
)

Rows = dict[str, Json]


class Source(Protocol):
    """Where records are read from."""

    def records(self, topic: Topic) -> list[Record]:
        """All that is committed by now, by partition in order."""


@dataclass
class History:
    """Facts, deliveries and observations are in log order by partition; rows are by key.

    packets, raw: input records by position.  facts, edges: in JSON, each with the partition it lies
    on.  deltas: in JSON by position, those of a protocol in log order.  task_facts: rows of
    `apc-tasks`.  timers: keys of those that wait.
    """

    packets: dict[str, Record]
    facts: list[tuple[int, Json]]
    deliveries: list[Json]
    dead: list[Record]
    states: Rows
    sessions: Rows
    throttles: Rows
    lineage: Rows
    deltas: Rows
    dead_deltas: list[Record]
    priors: Rows
    decisions: list[Json]
    edges: list[tuple[int, Json]]
    task_facts: Rows
    timers: list[str]
    raw: dict[str, Record]
    observed: list[Json]
    refused: list[Json]
    dead_raw: list[Record]
    tasks: Rows
    sequences: Rows


def read(source: Source) -> History:
    """Everything that is committed by now."""
    return History(
        packets={position(r): r for r in source.records(APC_PACKETS)},
        facts=_placed(source, APC_EVENTS),
        deliveries=values_of(source, APC_INBOX),
        dead=source.records(APC_PACKETS_DLQ),
        states=_rows(source, APC_PACKET_STATES_TABLE),
        sessions=_rows(source, APC_COORDINATION_TABLE),
        throttles=_rows(source, APC_THROTTLING_TABLE),
        lineage=_rows(source, APC_LINEAGE_TABLE),
        deltas=_by_position(source, APC_TRANSFERS),
        dead_deltas=source.records(APC_TRANSFERS_DLQ),
        priors=_rows(source, APC_PRIORS_TABLE),
        decisions=values_of(source, APC_DECISIONS),
        edges=_placed(source, LINEAGE_EDGES),
        task_facts=_rows(source, APC_TASK_FACTS),
        timers=list(_rows(source, TIMERS)),
        raw={position(r): r for r in source.records(RTES_RAW)},
        observed=values_of(source, RTES_EVENTS),
        refused=values_of(source, RTES_REJECTIONS),
        dead_raw=source.records(RTES_RAW_DLQ),
        tasks=_rows(source, SAOP_TASKS_TABLE),
        sequences=_rows(source, RTES_SESSIONS),
    )


def _placed(source: Source, topic: Topic) -> list[tuple[int, Json]]:
    partitions = [record.partition for record in source.records(topic)]
    return list(zip(partitions, values_of(source, topic), strict=True))


def _by_position(source: Source, topic: Topic) -> Rows:
    positions = [position(record) for record in source.records(topic)]
    return dict(zip(positions, values_of(source, topic), strict=True))


def values_of(source: Source, topic: Topic) -> list[Json]:
    return _shown(topic.record, [record.value for record in source.records(topic)])


def _rows(source: Source, table: Table) -> Rows:
    live = latest(source.records(table.topic or CHANGELOG))
    prefix = b"" if table.topic else store_key(table.name, "")
    encoded = {key[len(prefix) :]: row for (_, key), row in live.items() if key.startswith(prefix)}
    values = _shown(table.record, list(encoded.values()))
    return {key.decode(): value for key, value in zip(encoded, values, strict=True)}


def _shown(record: str | None, values: list[bytes | None]) -> list[Json]:
    assert record is not None
    decoded = decode_many(values, record)
    return [to_json(record, one.value) for one in decoded if not isinstance(one, Exception)]
