from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from streams.engine.merge import Buffer, take
from streams.engine.records import LogRecord
from topology.declarations import Topic, TopicKind

TOPICS = [Topic(f"t{n}", TopicKind.COMMAND, None, "k", "for tests") for n in range(3)]


def records(topic: Topic, times: Sequence[int], first: int = 0) -> list[LogRecord]:
    return [LogRecord(topic.name, 0, first + n, time, b"k", b"v") for n, time in enumerate(times)]


def full(topic: Topic, times: Sequence[int]) -> Buffer:
    buffer = Buffer(topic, fetched=len(times), known=len(times))
    buffer.put(records(topic, times))
    return buffer


times = st.lists(st.integers(0, 20), max_size=12).map(sorted)


@given(st.lists(times, min_size=3, max_size=3), st.integers(1, 50))
def test_records_are_taken_by_time_then_declared_order_then_offset(
    logs: list[list[int]], count: int
) -> None:
    buffers = [full(topic, log) for topic, log in zip(TOPICS, logs, strict=True)]
    order = {topic.name: n for n, topic in enumerate(TOPICS)}
    sequence = []
    while taken := take(buffers, count):
        assert len(taken) <= count
        sequence += [(r.timestamp, order[r.topic], r.offset) for _, r in taken]
    assert sequence == sorted(sequence)
    assert len(sequence) == sum(map(len, logs))
    assert all(buffer.size == 0 for buffer in buffers)


@given(st.lists(times, min_size=3, max_size=3), st.randoms(use_true_random=False))
def test_the_order_is_kept_however_the_fetches_arrive(
    logs: list[list[int]], random: Random
) -> None:
    """Ends are known at the start; records arrive in pieces, with cycles between them."""
    buffers = [Buffer(t, fetched=0, known=len(log)) for t, log in zip(TOPICS, logs, strict=True)]
    order = {topic.name: n for n, topic in enumerate(TOPICS)}
    sequence = []
    for _ in range(200):
        n = random.randrange(3)
        buffer, log = buffers[n], logs[n]
        some = random.randint(0, 3)
        buffer.put(records(TOPICS[n], log[buffer.next : buffer.next + some], buffer.next))
        buffer.fetched = buffer.next
        taken = take(buffers, random.randint(1, 5))
        sequence += [(r.timestamp, order[r.topic], r.offset) for _, r in taken]
    for buffer, log in zip(buffers, logs, strict=True):
        buffer.put(records(buffer.topic, log[buffer.next :], buffer.next))
        buffer.fetched = buffer.next
    sequence += [(r.timestamp, order[r.topic], r.offset) for _, r in take(buffers, 1000)]
    assert sequence == sorted(sequence)
    assert len(sequence) == sum(map(len, logs))


def test_it_stops_before_an_input_that_is_empty_but_behind() -> None:
    ready, behind = full(TOPICS[0], [1, 2]), Buffer(TOPICS[1], fetched=3, known=4)
    assert take([ready, behind], 10) == []
    behind.fetched = 4  # it was a marker
    assert len(take([ready, behind], 10)) == 2


def test_it_stops_when_an_input_runs_dry_in_the_middle() -> None:
    first, second = full(TOPICS[0], [1, 2, 9]), full(TOPICS[1], [3])
    second.known = 5
    assert [r.timestamp for _, r in take([first, second], 10)] == [1, 2, 3]
    assert take([first, second], 10) == []


def test_the_end_known_counts_before_the_consumer_was_heard_of() -> None:
    buffer = Buffer(TOPICS[0], next=5, fetched=None, known=6)
    assert buffer.is_lagging()
    assert not Buffer(TOPICS[0], next=6, fetched=None, known=6).is_lagging()


def test_a_list_put_twice_or_overlapping_is_kept_once() -> None:
    buffer = Buffer(TOPICS[0], next=2)
    some = records(TOPICS[0], range(6))
    buffer.put(some[:4])
    buffer.put(some[:4])
    buffer.put(some[1:])
    assert [r.offset for r in buffer.records] == [2, 3, 4, 5]
    assert buffer.next == 6


def test_a_buffer_is_full_by_count_or_by_bytes() -> None:
    buffer = Buffer(TOPICS[0])
    buffer.put(records(TOPICS[0], [1, 2]))
    assert buffer.full(2)
    assert not buffer.full(3)
    huge = LogRecord("t0", 0, 2, 3, None, bytes(8 << 20))
    buffer.put([huge])
    assert buffer.full(1000)
    assert len(take([buffer], 1000)) == 3
    assert not buffer.full(1000)


def test_one_taking_is_bounded_by_bytes() -> None:
    buffer = Buffer(TOPICS[0])
    buffer.put([LogRecord("t0", 0, n, n, None, bytes(3 << 20)) for n in range(10)])
    assert len(take([buffer], 1000)) == 3


def test_what_is_decided_counts_markers_only_with_nothing_in_hand() -> None:
    buffer = Buffer(TOPICS[0], fetched=9)
    assert buffer.committed_position(5) == 9
    buffer.put(records(TOPICS[0], [1]))
    assert buffer.committed_position(5) == 5
    assert Buffer(TOPICS[0]).committed_position(5) == 5
