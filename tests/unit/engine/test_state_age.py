"""When a store that is behind its changelog may be read on, and when it is rebuilt."""

from __future__ import annotations

from pathlib import Path

from streams.engine.memory import MemoryLog
from streams.engine.records import Output
from streams.engine.state import State
from tests.toy import COUNTS, OPEN, ROWS, toy_topics
from topology.retention import DELETE_RETENTION_MS


def opened(log: MemoryLog, path: Path, now_ms: int) -> int:
    """How many rows had to be read."""
    state = State(path, log, "", 0, (COUNTS, OPEN))
    read = state.open(now_ms)
    state.close()
    return read


def write(log: MemoryLog, count: int) -> None:
    producer = log.producer("other owner")
    producer.open()
    producer.commit([Output(ROWS.name, b"k%d" % i, b"row", (), 0) for i in range(count)])


def test_a_store_that_was_only_restored_is_read_on_from_where_it_stands(tmp_path: Path) -> None:
    log = MemoryLog(lambda: 0)
    log.create(toy_topics(1))
    write(log, 5)
    assert opened(log, tmp_path / "0", 1_000_000_000_000) == 5
    write(log, 3)
    assert opened(log, tmp_path / "0", 1_000_000_000_000 + DELETE_RETENTION_MS) == 3


def test_a_store_that_may_have_missed_tombstones_is_rebuilt(tmp_path: Path) -> None:
    log = MemoryLog(lambda: 0)
    log.create(toy_topics(1))
    write(log, 5)
    assert opened(log, tmp_path / "0", 1_000_000_000_000) == 5
    write(log, 3)
    assert opened(log, tmp_path / "0", 1_000_000_000_001 + DELETE_RETENTION_MS) == 8


def test_what_a_clock_that_stood_ahead_has_said_is_not_believed(tmp_path: Path) -> None:
    log = MemoryLog(lambda: 0)
    log.create(toy_topics(1))
    write(log, 5)
    right = 1_000_000_000_000
    assert opened(log, tmp_path / "0", right + DELETE_RETENTION_MS) == 5
    assert opened(log, tmp_path / "0", right) == 0  # it is at the end: nothing can be missed
    assert opened(log, tmp_path / "1", right + DELETE_RETENTION_MS) == 5
    write(log, 3)
    assert opened(log, tmp_path / "1", right) == 8
