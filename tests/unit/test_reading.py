"""Reading to an end, and single records: what a log does not give is not waited for without end."""

from __future__ import annotations

import pytest

from streams.engine.log import NewTopic
from streams.engine.memory import MemoryLog, MemoryReader
from streams.engine.records import Output, Record, TopicPartition
from streams.errors import BrokerUnavailable
from streams.log import fetching, reading

TP = TopicPartition("topic", 0)
PATIENCE_S = 0.05


@pytest.fixture
def log() -> MemoryLog:
    log = MemoryLog(lambda: 0)
    log.create([NewTopic("topic", 1, {})])
    log.append([Output("topic", None, b"%d" % number, (), 0) for number in range(3)])
    return log


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that takes questions and gives no records."""

    def nothing(reader: MemoryReader, timeout_s: float, max_records: int = 0) -> list[Record]:
        return []

    monkeypatch.setattr(MemoryReader, "poll", nothing)


def test_all_is_read_to_the_end(log: MemoryLog) -> None:
    assert [record.value for record in reading.records(log, [TP])] == [b"0", b"1", b"2"]


def test_a_log_that_gives_nothing_is_given_up(log: MemoryLog, silent: None) -> None:
    with pytest.raises(BrokerUnavailable, match="topic/0"):
        list(reading.records(log, [TP], patience_s=PATIENCE_S))


def test_a_log_that_stands_still_on_the_way_is_given_up(log: MemoryLog) -> None:
    records = reading.records(log, [TP], ends={TP: 9}, patience_s=PATIENCE_S)
    assert [next(records).offset for _ in range(3)] == [0, 1, 2]
    with pytest.raises(BrokerUnavailable, match="topic/0"):
        next(records)


def test_a_record_is_found_by_its_position(log: MemoryLog) -> None:
    fetch = fetching.records_of(log)
    record = fetch("topic/0/1")
    assert record is not None
    assert record.value == b"1"


def test_a_record_that_is_not_there_is_none(log: MemoryLog) -> None:
    fetch = fetching.records_of(log, PATIENCE_S)
    log.slots(TP)[2] = None
    assert fetch("topic/0/2") is None, "compacted away, and nothing behind it"
    log.slots(TP)[1] = None
    assert fetch("topic/0/1") is None
    assert fetch("topic/0/3") is None, "not yet written"
    assert fetch("topic/0/9") is None


def test_a_record_that_cannot_be_read_is_not_said_to_be_gone(log: MemoryLog, silent: None) -> None:
    with pytest.raises(BrokerUnavailable, match="topic/0/1"):
        fetching.records_of(log, PATIENCE_S)("topic/0/1")
