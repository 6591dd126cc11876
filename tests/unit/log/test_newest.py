"""Tests of the reader that begins with the newest record."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from streams.engine.log import NewTopic
from streams.engine.memory import MemoryLog
from streams.engine.records import Output, TopicPartition
from streams.log.newest import age_of, newest_first
from tests.examples import example_count

TPS = [TopicPartition("letters", number) for number in range(3)]


@given(
    steps=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=400),
    factor=st.integers(1, 5),
)
@settings(max_examples=example_count(50), deadline=None)
def test_records_come_by_time_the_newest_first(steps: list[tuple[int, int]], factor: int) -> None:
    now = 0
    log = MemoryLog(lambda: now)
    log.create([NewTopic("letters", 3, {})])
    for partition, pause in steps:
        now += pause
        log.append([Output("letters", None, b"x", (), partition)] * factor)
    records = list(newest_first(log, TPS))
    assert len(records) == len(steps) * factor
    assert [age_of(record) for record in records] == sorted(map(age_of, records), reverse=True)


def test_the_first_ones_are_read_without_the_others() -> None:
    log = MemoryLog(lambda: 0)
    log.create([NewTopic("letters", 1, {})])
    log.append([Output("letters", None, b"%d" % number, (), 0) for number in range(5000)])
    reader = newest_first(log, TPS[:1])
    assert [next(reader).offset for _ in range(3)] == [4999, 4998, 4997]
