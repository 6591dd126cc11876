"""What an agent begins, and up to where its inbox is done."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.engine.records import LogRecord, TopicPartition
from streams.summit.serving.intake import END_GRACE_MS, InboxRecord, Intake

TP, OTHER = TopicPartition("summit.inbox", 0), TopicPartition("summit.inbox", 1)


def record(offset: int, tp: TopicPartition = TP, at: int = 0) -> LogRecord:
    return LogRecord(tp.topic, tp.partition, offset, at, b"a", b"")


def letter(offset: int, run_id: str, tp: TopicPartition = TP, **at: int) -> InboxRecord:
    due_ms, read_at = at.get("due_ms", 1000), at.get("at", 0)
    call: dict[str, Any] = {"params": {"runId": run_id}}
    return InboxRecord(tp, run_id, call, record(offset, tp, read_at), due_ms)


def intake(*letters: InboxRecord, tps: tuple[TopicPartition, ...] = (TP,)) -> Intake:
    made = Intake()
    made.add_partitions(tps)
    for one in letters:
        made.add_run(one)
    made.mark_read_to_end(tps)
    return made


def begun(made: Intake) -> list[str]:
    run_ids = []
    while (one := made.next_run()) is not None:
        run_ids.append(one.run_id)
    return run_ids


def test_runs_begin_in_the_order_of_the_log() -> None:
    assert begun(intake(letter(3, "r1"), letter(5, "r2"))) == ["r1", "r2"]


def test_nothing_begins_before_the_end_was_read_once() -> None:
    """A stop that came long ago lies behind."""
    made = Intake()
    made.add_partitions([TP])
    made.add_run(letter(0, "r1"))
    assert made.next_run() is None
    assert not made.stop("r1")
    made.mark_read_to_end([TP])
    assert made.next_run() is None


def test_an_end_of_a_partition_that_is_not_held_says_nothing() -> None:
    made = Intake()
    made.mark_read_to_end([TP])
    made.add_partitions([TP])
    made.add_run(letter(0, "r1"))
    assert made.next_run() is None


@pytest.mark.parametrize("state", ["waiting", "working", "over", "stopped"])
def test_a_run_that_is_delivered_again_begins_once(state: str) -> None:
    made = intake(letter(0, "r1"))
    if state in ("working", "over"):
        assert begun(made) == ["r1"]
    if state == "over":
        made.finish("r1")
    if state == "stopped":
        made.stop("r1")
    made.add_run(letter(1, "r1"))
    assert begun(made) == (["r1"] if state == "waiting" else [])


def test_a_stop_says_whether_the_run_was_begun() -> None:
    made = intake(letter(0, "r1"), letter(1, "r2"))
    assert made.next_run() is not None
    assert made.stop("r1")
    assert not made.stop("r2")
    assert not made.stop("never-heard-of")
    assert begun(made) == []


def test_done_is_what_lies_below_the_first_run_that_is_open() -> None:
    made = intake(letter(4, "r1"), letter(5, "r2"), letter(7, "r3"))
    made.add_record(record(9))
    assert begun(made) == ["r1", "r2", "r3"]
    assert list(made.committable_offsets()) == []
    made.finish("r2")
    assert list(made.committable_offsets()) == []
    made.finish("r1")
    assert list(made.committable_offsets()) == [(TP, 6)]
    assert list(made.committable_offsets()) == [], "it is said once"
    made.stop("r3")
    assert list(made.committable_offsets()) == [(TP, 10)]


def test_a_run_that_waits_is_open() -> None:
    made = intake(letter(0, "r1"))
    made.add_record(record(1))
    assert list(made.committable_offsets()) == []


def test_records_of_others_are_done_at_once() -> None:
    made = intake()
    made.add_record(record(41))
    assert list(made.committable_offsets()) == [(TP, 42)]


def test_partitions_are_done_each_for_itself() -> None:
    made = intake(letter(0, "r1"), letter(0, "r2", OTHER), tps=(TP, OTHER))
    assert begun(made) == ["r1", "r2"]
    made.finish("r2")
    assert list(made.committable_offsets()) == [(OTHER, 1)]


def test_what_waits_in_a_lost_partition_is_for_another() -> None:
    made = intake(letter(0, "r1"), letter(0, "r2", OTHER), tps=(TP, OTHER))
    made.remove_partitions([TP])
    assert begun(made) == ["r2"]


def test_a_run_at_work_goes_on_when_its_partition_is_lost_and_is_open_when_it_comes_back() -> None:
    made = intake(letter(3, "r1"))
    assert begun(made) == ["r1"]
    made.remove_partitions([TP])
    made.add_partitions([TP])
    made.add_run(letter(3, "r1"))
    made.mark_read_to_end([TP])
    assert begun(made) == []
    assert list(made.committable_offsets()) == []
    made.finish("r1")
    assert list(made.committable_offsets()) == [(TP, 4)]


def test_a_log_that_is_read_again_is_done_with_from_there() -> None:
    """It was lost and taken before anyone looked."""
    made = intake(letter(3, "r1"), letter(4, "r2"))
    assert begun(made) == ["r1", "r2"]
    made.finish("r2")
    made.add_run(letter(3, "r1"))
    made.add_run(letter(4, "r2"))
    assert list(made.committable_offsets()) == []


@pytest.mark.parametrize(
    ("late", "begins"), [(0, True), (END_GRACE_MS, True), (END_GRACE_MS + 1, False)]
)
def test_a_run_long_over_is_not_begun(late: int, begins: bool) -> None:
    made = intake(letter(0, "r1", due_ms=1000, at=1000 + late))
    assert begun(made) == (["r1"] if begins else [])
    assert list(made.committable_offsets()) == ([] if begins else [(TP, 1)])


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.integers(0, 5)),
        st.tuples(st.just("stop"), st.integers(0, 5)),
        st.tuples(st.just("end"), st.integers(0, 5)),
        st.tuples(st.just("begin"), st.just(0)),
        st.tuples(st.just("pass"), st.just(0)),
        st.tuples(st.just("rewind"), st.integers(0, 9)),
    ),
    max_size=60,
)


@given(STEPS)
def test_any_story_keeps_the_promises(steps: list[tuple[str, int]]) -> None:
    """A run begins at most once, never after its stop; no offset is done before its run."""
    made, log, offset, committed = intake(), dict[int, str | None](), 0, 0
    began: list[str] = []
    over: set[str] = set()
    for step, number in steps:
        run_id = f"r{number}"
        match step:
            case "ask":
                log[offset] = run_id
                made.add_run(letter(offset, run_id))
                offset += 1
            case "pass":
                log[offset] = None
                made.add_record(record(offset))
                offset += 1
            case "stop":
                assert made.stop(run_id) == (run_id in began and run_id not in over)
                over.add(run_id)
            case "end" if run_id in began:
                made.finish(run_id)
                over.add(run_id)
            case "begin" if (one := made.next_run()) is not None:
                assert one.run_id not in over
                began.append(one.run_id)
            case "rewind":
                made.remove_partitions([TP])
                made.add_partitions([TP])
                for place in range(committed, offset):
                    agent_id = log[place]
                    if agent_id is None:
                        made.add_record(record(place))
                    else:
                        made.add_run(letter(place, agent_id))
                made.mark_read_to_end([TP])
        for _, done in made.committable_offsets():
            assert done > committed
            asked_for = {log[place] for place in range(committed, done)} - {None}
            assert asked_for <= over
            committed = done
    assert len(began) == len(set(began))
