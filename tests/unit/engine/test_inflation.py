"""Batches that inflate beyond the bound are read as empty records, each at its offset."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable

import cramjam
import pytest
from aiokafka.codec import gzip_encode, lz4_encode, snappy_encode, zstd_encode

from schemas import Undecodable, decode_many
from streams.engine.fetched.inflation import INFLATED_BYTES, replace_bombs
from streams.engine.records import Output
from tests.e2e.raw_records import batch
from tests.unit.engine.test_fetched_records import fetched, read

ENCODERS: dict[int, Callable[[bytes], bytes]] = {
    1: gzip_encode,
    2: snappy_encode,
    3: lz4_encode,
    4: zstd_encode,
}
CODECS = tuple(ENCODERS)
BOUND = 1 << 20


def bomb(codec: int, size: int, records: int = 1) -> bytes:
    """Return a batch as an intruder makes it: its body inflates to `size` zeros."""
    outputs = [Output("t", b"k", b"v")] * records
    header = bytearray(batch(outputs, 0)[:61])
    body = ENCODERS[codec](bytes(size))
    struct.pack_into(">i", header, 8, len(header) - 12 + len(body))
    struct.pack_into(">h", header, 21, codec)
    return bytes(header) + body


@pytest.mark.parametrize("codec", CODECS)
def test_each_record_of_a_bomb_comes_empty_and_what_follows_comes_whole(codec: int) -> None:
    sound, sent = fetched(("good", 0), ("good", 0))
    good = len(sound) // 2
    attack = bytearray(bomb(codec, BOUND + 1, records=5))
    struct.pack_into(">q", attack, 0, 5)
    last = bytearray(sound[good:])
    struct.pack_into(">q", last, 0, 10)
    data = replace_bombs(sound[:good] + bytes(attack) + bytes(last), BOUND).data
    records = read(data)
    assert [record.offset for record in records] == list(range(15))
    assert [(r.key, r.value) for r in records[5:10]] == [(None, b"")] * 5
    assert [r.value for r in records[10:]] == [output.value for output in sent[5:]]
    results = decode_many([r.value for r in records[5:10]], "headrace.core.TimerRow")
    assert all(isinstance(result, Undecodable) for result in results)


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_within_the_bound_is_left_alone(codec: int) -> None:
    data, _ = fetched(("good", 0), ("bad", 0), compression=codec)
    assert replace_bombs(data, BOUND).data == data
    exact = bomb(codec, BOUND)
    assert replace_bombs(exact, BOUND) == (exact, BOUND)


@pytest.mark.parametrize("frames", [zstd_encode(bytes(BOUND)) * 2, lz4_encode(bytes(BOUND)) * 2])
def test_several_frames_count_as_one(frames: bytes) -> None:
    codec = 4 if frames[:4] == cramjam.zstd.compress(b"").read()[:4] else 3
    header = bytearray(bomb(codec, 1)[:61])
    struct.pack_into(">i", header, 8, len(header) - 12 + len(frames))
    assert replace_bombs(bytes(header) + frames, BOUND).data != bytes(header) + frames


def test_reading_300_mb_of_zeros_takes_no_more_than_the_bound() -> None:
    attack = bomb(4, 300_000_000)
    assert len(attack) < 30_000
    tracemalloc.start()
    records = read(replace_bombs(attack).data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [record.value for record in records] == [b""]
    assert peak < INFLATED_BYTES + (8 << 20)


@pytest.mark.parametrize("codec", CODECS)
def test_a_small_batch_takes_no_memory_of_the_bound(codec: int) -> None:
    data, _ = fetched(("good", 0), compression=codec)
    tracemalloc.start()
    assert replace_bombs(data).data is data
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20


def test_a_part_at_the_end_of_a_fetch_stays_there() -> None:
    attack, (sound, _) = bomb(4, BOUND + 1), fetched(("good", 0))
    assert replace_bombs(attack + sound[:40], BOUND).data.endswith(sound[:40])
