"""The checkpoints of the audit, indexed by what they cover.

| key                                                         | value                            |
|-------------------------------------------------------------|----------------------------------|
| seal, topic, partition, offset, partition and offset of the | AuditCheckpoint as on its topic  |
| checkpoint's own record                                     |                                  |

Any client with the right to write the topic can write a checkpoint, so several may cover the same
offset; who reads them checks their signatures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from schemas import Undecodable, decode
from streams.engine.records import Record, TopicPartition
from streams.views.changes import WriteBatch
from streams.views.keys import key, text_key
from streams.views.reads import ReadOnlyStore
from topology.core import AUDIT_CHECKPOINTS
from topology.declarations import Topic

Checkpoint = Mapping[str, Any]
_SEAL = key("seal")
_RECORD = AUDIT_CHECKPOINTS.record or ""


def apply_checkpoints(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    """Index checkpoints; what is none is skipped."""
    for record in records:
        try:
            checkpoint = decode(record.value, _RECORD).value
        except Undecodable:
            continue
        tp = TopicPartition(checkpoint["topic"], checkpoint["partition"])
        place = key(checkpoint["offset"], record.partition, record.offset)
        rows[_chain_key(tp) + place] = record.value


def checkpoints_over(view: ReadOnlyStore, tp: TopicPartition, offset: int) -> Iterator[Checkpoint]:
    """Yield the checkpoints that cover an offset, those that cover the least first."""
    chain = _chain_key(tp)
    return _decode_rows(view.scan(chain, chain + key(offset + 1)))


def checkpoints_back(
    view: ReadOnlyStore, tp: TopicPartition, offset: int | None = None
) -> Iterator[Checkpoint]:
    """Yield the checkpoints up to an offset, by default all; those that cover the most first."""
    chain = _chain_key(tp)
    start = None if offset is None else chain + key(offset + 1)
    return _decode_rows(view.scan(chain, start, reverse=True))


def _chain_key(tp: TopicPartition) -> bytes:
    return _SEAL + text_key(tp.topic) + key(tp.partition)


def _decode_rows(rows: Iterator[tuple[bytes, bytes]]) -> Iterator[Checkpoint]:
    return (decode(row, _RECORD).value for _, row in rows)
