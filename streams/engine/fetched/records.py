"""Reading batches whose header names are not UTF-8, or that inflate without bound.

On the wire a header's name is any bytes, and brokers accept them.  aiokafka raises on such a name
each time it fetches the batch, so one record would stop its partition for good.  Here the
batch is read again, and the record has no headers: no client can return them, so workers and
all other readers see the same.

What is too large when it is inflated is replaced (`inflation`), and a fetch is handed over in
parts, so that many batches below that bound are not in memory at once.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from aiokafka.consumer import fetcher
from aiokafka.record.default_records import _DefaultRecordBatchPy
from aiokafka.record.memory_records import MemoryRecords, _MemoryRecordsPy
from aiokafka.record.util import decode_varint

from streams.engine.fetched import inflation
from streams.engine.fetched.turns import await_turn

_LENGTH_AT, _ATTRIBUTES_AT = 8, 21
PART_BYTES = 8 << 20
"""Bytes of keys and values that are handed over at once of a partition, one record at least."""
_COMPRESSION = 0x07
_TO_ASCII = bytes(n if n < 128 else ord("?") for n in range(256))


def install() -> None:
    """Replace aiokafka's classes and functions, which it looks up by name."""
    inflation.install()
    fetcher.MemoryRecords = FetchedBatches
    fetcher.PartitionRecords = PartitionRecords
    fetcher.FetchResult = FetchResult


class FetchedBatches(MemoryRecords):
    """The batches fetched of one partition, with their bytes.

    largest: bytes that one of them inflates to at most.
    """

    def __init__(self, data: bytes) -> None:
        self.data, self.largest = inflation.replace_bombs(data)
        super().__init__(self.data)


class FetchResult(fetcher.FetchResult):
    """The rest of one fetch of a partition; it is handed over in parts."""

    _partition_records: Any

    def getall(self, max_records: int | None = None) -> list[Any]:
        """Return records up to `PART_BYTES`, and leave the rest for the next call.

        Raises BrokerUnavailable.
        """
        tp, records, size = self._topic_partition, list[Any](), 0
        if not self.check_assignment(tp) or not self.has_more():
            return records
        await_turn(self._partition_records.largest)
        for record in self._partition_records:
            records.append(record)
            size += len(record.key or b"") + len(record.value or b"")
            if size >= PART_BYTES or len(records) == max_records:
                self._update_position()
                return records
        self._update_position()
        self._partition_records = None
        return records


class PartitionRecords(fetcher.PartitionRecords):
    """The records of one fetch, in order."""

    _records: Any
    _aborted_transactions: list[Any]

    def __init__(self, tp: Any, records: FetchedBatches, *more: Any) -> None:
        """Keep of the batches how large one of them may be.  more: as the client passes it."""
        super().__init__(tp, records, *more)
        self.largest = records.largest

    def _unpack_records(self) -> Iterator[Any]:
        aborted = list(self._aborted_transactions)
        try:
            yield from super()._unpack_records()
        except UnicodeDecodeError:
            next_offset, (data, headerless) = (
                self.next_fetch_offset,
                make_headers_ascii(self._records.data),
            )
            self._records = MemoryRecords(
                data
            )  # from the beginning, to detect aborted records again
            self._aborted_transactions = aborted
            self._aborted_producers.clear()
            for record in super()._unpack_records():
                if record.offset >= next_offset:
                    yield replace(record, headers=()) if record.offset in headerless else record


def make_headers_ascii(data: bytes) -> tuple[bytes, set[int]]:
    """Return the batches uncompressed with ASCII header names, and the offsets that changed."""
    batches, rewritten, headerless = _MemoryRecordsPy(data), [], set[int]()
    while batches.has_next():
        raw = batches._next_slice
        batches.next_batch()
        batch = _DefaultRecordBatchPy(raw)
        iter(batch)  # decompresses
        head = bytearray(raw[: batch.HEADER_STRUCT.size])
        body = batch._buffer[batch._pos :]
        headerless.update(batch.base_offset + delta for delta in _replace_names(body))
        struct.pack_into(">i", head, _LENGTH_AT, len(head) - _LENGTH_AT - 4 + len(body))
        attributes = batch.attributes & ~_COMPRESSION
        struct.pack_into(">h", head, _ATTRIBUTES_AT, attributes)
        rewritten.append(bytes(head + body))
    return b"".join(rewritten), headerless


def _replace_names(records: bytearray) -> Iterator[int]:
    """Make header names that are not UTF-8 ASCII, in place, so that no length changes.

    Yields the offset deltas of the records that it changed.
    """
    end = 0
    while end < len(records):
        size, pos = decode_varint(records, end)
        end = pos + size
        pos += 1  # attributes
        _, pos = decode_varint(records, pos)  # time
        delta, pos = decode_varint(records, pos)
        for _ in ("key", "value"):
            length, pos = decode_varint(records, pos)
            pos += max(0, length)
        count, pos = decode_varint(records, pos)
        for _ in range(count):
            length, pos = decode_varint(records, pos)
            name = records[pos : pos + length]
            if not _is_utf_8(name):
                records[pos : pos + length] = name.translate(_TO_ASCII)
                yield delta
            length, pos = decode_varint(records, pos + length)
            pos += max(0, length)


def _is_utf_8(name: bytearray) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True
