"""The rows of a view: the projections of all protocols, and the lineage graph.

| key                                          | value                                      |
|----------------------------------------------|--------------------------------------------|
| edge, cause, partition, offset               | LineageEdge as on its topic                |
| graph …                                      | see `streams.view_store.graph.index`       |
| seal …                                       | see `streams.view_store.seals`             |

The rows of a protocol are described beside its projection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streams.engine.headers import CAUSE
from streams.engine.records import Record, TopicPartition, header
from streams.protocols.queries import QUERIES
from streams.view_store import graph, seals
from streams.views.changes import WriteBatch
from streams.views.decoded import decode_members
from streams.views.keys import key, number_at_end, text_key
from streams.views.positions import Position
from streams.views.projection import Apply
from streams.views.reads import RowReader
from topology.core import AUDIT_CHECKPOINTS, LINEAGE_EDGES
from topology.declarations import Topic, TopicKind

_EDGE = key("edge")
_MAX_DIGITS = 18
"""Every number of so many digits fits into 64 bits."""
_VERDICT_ROWS = {name: row for side in QUERIES for name, row in side.verdict_rows.items()}


def _apply_edges(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    edges = []
    for record, value in decode_members(topic, records, graph.EDGES):
        row_key = _EDGE + text_key(value["cause"]) + key(record.partition, record.offset)
        rows[row_key] = record.value
        edges.append((value, row_key))
    graph.index_edges(edges, rows)


FOLLOWED: Mapping[str, Apply | None] = {
    LINEAGE_EDGES.name: _apply_edges,
    AUDIT_CHECKPOINTS.name: seals.apply_checkpoints,
    **{name: apply for side in QUERIES for name, apply in side.projection.items()},
}
"""The projection of each followed topic; None for dead letters and messages.

Of these only causes are used.
"""


def edges_caused_by(view: RowReader, cause: Position, prefix: str) -> list[str]:
    """Return the positions of the edges that a record caused.  prefix: of topic names."""
    rows = view.scan(_EDGE + text_key("/".join(map(str, cause))))
    places = ((number_at_end(row_key[:-8]), number_at_end(row_key)) for row_key, _ in rows)
    return [f"{prefix}{LINEAGE_EDGES.name}/{partition}/{offset}" for partition, offset in places]


def verdict_row_key(position: Position) -> bytes | None:
    """Return the key of the row written with the verdict, for topics that hold records back.

    On these topics a later record may get its verdict earlier.  On other topics, for which this
    returns None, a verdict implies verdicts for all lower offsets.  position: its topic is without
    prefix.
    """
    row_key = _VERDICT_ROWS.get(position.topic)
    return None if row_key is None else row_key(position.partition, position.offset)


def causes_of(topic: Topic, records: Sequence[Record]) -> dict[TopicPartition, list[int]]:
    """Return the offsets that verdicts and dead letters among these records answer.

    A task decides a partition in order, so all lower offsets are answered on the log too, except
    for records that it holds back (`verdict_row_key`).  Other causes, such as timers, are left out.
    """
    if topic.kind not in (TopicKind.FACT, TopicKind.DEAD_LETTER):
        return {}
    offsets: dict[bytes, list[int]] = {}
    for record in records:
        source, _, offset = (header(record, CAUSE) or b"").rpartition(b"/")
        if offset.isdigit() and len(offset) <= _MAX_DIGITS:
            offsets.setdefault(source, []).append(int(offset))
    parsed = {_parse_partition(source): numbers for source, numbers in offsets.items()}
    return {tp: numbers for tp, numbers in parsed.items() if tp is not None}


def _parse_partition(source: bytes) -> TopicPartition | None:
    """Parse `topic/partition`; return None for anything else."""
    name, _, partition = source.partition(b"/")
    if not partition.isdigit() or len(partition) > _MAX_DIGITS or not name.isascii():
        return None
    return TopicPartition(name.decode(), int(partition))
