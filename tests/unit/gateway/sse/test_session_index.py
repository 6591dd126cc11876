"""Where the records of a session lie."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from streams.gateway.live_tail.session_index import SessionIndex, SessionRange
from tests.examples import example_count
from tests.unit.gateway.sse.harness import Bench

NAMES = ("a", "b", "c")
written = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(1, 80)), max_size=20)


def own_offsets(bench: Bench, name: str) -> list[int]:
    """Offsets of a session's records, by sequence."""
    start = bench.log.starts(bench.tps)[bench.tps[0]]
    slots = bench.log.slots(bench.tps[0])
    return [
        at for at, slot in enumerate(slots) if slot and slot.key == name.encode() and at >= start
    ]


@settings(max_examples=example_count(60), deadline=None)
@given(written, written, st.integers(1, 3), st.integers(0, 100), st.booleans())
def test_reading_from_there_finds_all_that_comes_after_a_sequence(
    before: list[tuple[str, int]],
    after: list[tuple[str, int]],
    most_sessions: int,
    start: int,
    feed: bool,
) -> None:
    bench = Bench(1)
    (tp,) = bench.tps
    index = SessionIndex(bench.log, tp, most_sessions)
    for name, count in before:
        bench.send(name, count)
    bench.truncate("a", min(start, bench.log.ends([tp])[tp]))
    for name in NAMES:
        check(index, bench, name)
    begin = bench.log.ends([tp])[tp]
    for name, count in after:
        bench.send(name, count)
    if feed:
        slots = bench.log.slots(tp)
        index.feed([slot for slot in slots[begin:] if slot], begin, len(slots))
    for name in NAMES:
        check(index, bench, name)


def check(index: SessionIndex, bench: Bench, name: str) -> None:
    offsets = own_offsets(bench, name)
    last = bench.sequences[name] if offsets else 0
    first = last - len(offsets) + 1 if offsets else None
    for sequence in (None, 0, 1, 63, 64, 65, last - 1, last, last + 1):
        if sequence is not None and sequence < 0:
            continue
        session = index.find(name.encode(), sequence)
        assert (session.first, session.last) == (first, last)
        expected_offsets = (
            [] if sequence is None else offsets[max(0, sequence + 1 - (first or 1)) :]
        )
        assert all(session.position <= offset for offset in expected_offsets)
        between = [offset for offset in offsets if offset >= session.position]
        assert len(between) - len(expected_offsets) < 64


def test_of_a_topic_without_records() -> None:
    bench = Bench(1)
    index = SessionIndex(bench.log, bench.tps[0])
    assert index.find(b"s", 0) == SessionRange(None, 0, 0, False)


def test_a_topic_that_is_shorter_than_before_is_read_anew() -> None:
    bench = Bench(1)
    index = SessionIndex(bench.log, bench.tps[0])
    bench.send("s", 5)
    assert index.find(b"s", None).last == 5
    bench.recreate()
    bench.send("s", 2)
    assert index.find(b"s", None).last == 2
