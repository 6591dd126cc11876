"""From records to the rows of a view, for all protocols and the graph of what came of what.

| key                                          | value                                      |
|----------------------------------------------|--------------------------------------------|
| edge, cause, partition, offset               | LineageEdge as on its topic                |
| graph …                                      | see `streams.view_store.graph.index`       |

The rows of a protocol are described where its projection is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streams.engine.headers import CAUSE
from streams.engine.records import Record, header
from streams.protocols.queries import QUERIES
from streams.view_store import graph
from streams.views.changes import Changes
from streams.views.decoded import decoded
from streams.views.keys import key, text_key
from streams.views.positions import Position
from streams.views.projection import Apply
from topology.core import LINEAGE_EDGES
from topology.declarations import Kind, Topic

_EDGE = key("edge")
_VERDICT_ROWS = {name: row for side in QUERIES for name, row in side.verdict_rows.items()}


def _edges(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
    found = []
    for record, value in decoded(topic, records, graph.EDGES):
        own = _EDGE + text_key(value["cause"]) + key(record.partition, record.offset)
        rows[own] = record.value
        found.append((value, own))
    graph.note(found, rows)


FOLLOWED: Mapping[str, Apply | None] = {
    LINEAGE_EDGES.name: _edges,
    **{name: apply for side in QUERIES for name, apply in side.projection.items()},
}
"""What a view reads, and how; of dead letters it only notes what they answer."""


def answer_row(position: Position) -> bytes | None:
    """The row that the answer to a record writes, where later records may be answered earlier.

    position: with the topic's name without prefix.  None for other topics: there an answer stands
    for all offsets below.
    """
    row_key = _VERDICT_ROWS.get(position.topic)
    return None if row_key is None else row_key(position.partition, position.offset)


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
