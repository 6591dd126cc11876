"""Large batches are in memory for one request at a time, whatever number of threads reads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from aiokafka.structs import TopicPartition

from streams.engine.fetched import turns
from streams.engine.fetched.records import FetchedBatches, FetchResult, PartitionRecords
from streams.engine.fetched.turns import LARGE_BYTES, take_turns
from streams.engine.records import Output
from streams.errors import BrokerUnavailable
from tests.e2e.raw_records import batch
from tests.unit.engine.test_fetched_records import Assigned

READERS = 4
TP = TopicPartition("t", 0)


class Counter:
    """Counts the requests that hold records now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.now = self.most = 0

    def hold(self) -> None:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def release(self) -> None:
        with self._lock:
            self.now -= 1


def zeros(size: int) -> bytes:
    """Return a batch of one record whose value zstd makes small."""
    return batch([Output("t", b"k", bytes(size))], 4)


def fetch(data: bytes) -> FetchResult:
    """Return what one fetch of a partition brings."""
    records = PartitionRecords(TP, FetchedBatches(data), [], 0, None, None, False, 1)
    return FetchResult(TP, assignment=Assigned(), partition_records=records, backoff=0)


def most_at_once(size: int, patience_s: float) -> int:
    """Return how many of four readers hold their batch at once, which inflates to so many bytes.

    Each waits with its records for so long that the others come too.
    """
    counter, data = Counter(), zeros(size)
    all_hold = threading.Barrier(READERS)

    def read() -> None:
        fetch(data).getall()
        counter.hold()
        with suppress(threading.BrokenBarrierError):
            all_hold.wait(patience_s)
        counter.release()

    in_threads(lambda: take_turns(read))
    return counter.most


def in_threads(call: Callable[[], None]) -> None:
    with ThreadPoolExecutor(READERS) as pool:
        for run in [pool.submit(call) for _ in range(READERS)]:
            run.result()


def test_one_request_at_a_time_holds_a_large_batch() -> None:
    assert most_at_once(2 * LARGE_BYTES, 0.5) == 1


def test_requests_hold_small_batches_at_once() -> None:
    assert most_at_once(LARGE_BYTES // 2, 30) == READERS


def test_readers_of_one_request_share_its_turn() -> None:
    data = zeros(2 * LARGE_BYTES)

    def read() -> list[int]:
        return [len(fetch(data).getall()), len(fetch(data).getall())]

    assert take_turns(read) == [1, 1]
    assert take_turns(read) == [1, 1]  # its turn has ended


def test_a_request_waits_for_its_turn_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE_S", 0.01)
    data = zeros(2 * LARGE_BYTES)
    with ThreadPoolExecutor(1) as pool:

        def read() -> None:
            fetch(data).getall()
            with pytest.raises(BrokerUnavailable, match="ask again"):
                pool.submit(take_turns, fetch(data).getall).result()

        take_turns(read)
        assert len(pool.submit(take_turns, fetch(data).getall).result()) == 1


def test_readers_that_serve_no_request_take_no_turns() -> None:
    data = zeros(2 * LARGE_BYTES)

    def read() -> None:
        fetch(data).getall()
        with ThreadPoolExecutor(1) as pool:
            assert len(pool.submit(fetch(data).getall).result(30)) == 1

    take_turns(read)
