"""Batches with header names that are not UTF-8 are read whole, each record once."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from aiokafka.structs import TopicPartition

from streams.engine.fetched.records import FetchedBatches, FetchResult, PartitionRecords
from streams.engine.records import Output
from tests.e2e.raw_records import batch, raw_name

LATIN = b"caf\xe9"
PLAIN, BAD = [("plain", b"1")], [("plain", b"1"), (raw_name(LATIN), b"2")]
TRANSACTIONAL, READ_COMMITTED = 0x10, 1
COMPRESSIONS = (0, 1, 2, 3, 4)


def fetched(*batches: tuple[str, int], compression: int = 0) -> tuple[bytes, list[Any]]:
    """Batches of five, as brokers hand them out: good or bad (its third record), and of whom."""
    data, sent = b"", []
    for number, (kind, producer) in enumerate(batches):
        outputs = [
            Output("t", b"k%d" % n, LATIN * 20, BAD if (kind, n) == ("bad", 2) else PLAIN)
            for n in range(5)
        ]
        made = bytearray(batch(outputs, compression))
        struct.pack_into(">q", made, 0, 5 * number)
        if producer:
            (attributes,) = struct.unpack_from(">h", made, 21)
            struct.pack_into(">hiqqq", made, 21, attributes | TRANSACTIONAL, 4, 0, 0, producer)
        data += made
        sent += outputs
    return data, sent


def read(data: bytes, place: int = 0, aborted: Any = ()) -> list[Any]:
    tp = TopicPartition("t", 0)
    records = PartitionRecords(
        tp, FetchedBatches(data), list(aborted), place, None, None, False, READ_COMMITTED
    )
    return list(records)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_every_record_comes_once_and_a_bad_one_without_headers(compression: int) -> None:
    data, sent = fetched(
        ("good", 0), ("bad", 0), ("good", 0), ("bad", 0), ("good", 0), compression=compression
    )
    records = read(data)
    assert [r.offset for r in records] == list(range(25))
    assert [(r.key, r.value) for r in records] == [(o.key, o.value) for o in sent]
    headers = [list(r.headers) for r in records]
    assert headers == [[] if n in (7, 17) else PLAIN for n in range(25)]


def test_reading_may_begin_within_the_first_batch() -> None:
    data, _ = fetched(("good", 0), ("bad", 0), ("good", 0))
    assert [r.offset for r in read(data, place=3)] == list(range(3, 15))


def test_what_was_aborted_stays_out() -> None:
    """Producer 7's first batch was aborted; its marker is not in this fetch."""
    data, _ = fetched(("good", 8), ("good", 7), ("bad", 8), ("bad", 7), ("good", 8))
    records = read(data, aborted=[(7, 5)])
    assert [r.offset for r in records] == [*range(5), *range(10, 15), *range(20, 25)]


def test_sound_batches_are_read_as_ever() -> None:
    data, sent = fetched(("good", 0), ("good", 0))
    assert [list(r.headers) for r in read(data)] == [PLAIN] * len(sent)


def test_many_batches_below_the_bound_are_handed_over_in_parts() -> None:
    tp = TopicPartition("t", 0)
    data, sent = fetched(*[("good", 0)] * 4)
    records = PartitionRecords(tp, FetchedBatches(data), [], 0, None, None, False, READ_COMMITTED)
    result = FetchResult(tp, assignment=Assigned(), partition_records=records, backoff=0)
    size = len(sent[0].key or b"") + len(sent[0].value or b"")
    parts = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("streams.engine.fetched.records.PART_BYTES", 7 * size)
        while result.has_more():
            parts.append([record.offset for record in result.getall()])
    assert parts == [list(range(7)), list(range(7, 14)), list(range(14, 20))]


class Assigned:
    """An assignment that is in force, of a partition whose position nobody asks for."""

    def __init__(self) -> None:
        self.active, self.consumed = True, 0

    def state_value(self, tp: TopicPartition) -> Assigned:
        return self

    has_valid_position = True
    paused = False

    @property
    def position(self) -> int:
        return self.consumed

    def consumed_to(self, offset: int) -> None:
        self.consumed = offset
