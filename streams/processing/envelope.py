"""The check of a record's partition, which the processors of the protocols share."""

from __future__ import annotations

from streams.engine.processor import ProcessorContext
from topology.keys import partition_of


def partition_mismatch(key: bytes, partition: int, ctx: ProcessorContext) -> int | None:
    """Return the partition that a record's key belongs to, None if it is the record's own."""
    expected = partition_of(key, ctx.partitions)
    return None if partition == expected else expected
