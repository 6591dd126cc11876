"""Following topics, and the cursors to go on from."""

from __future__ import annotations

import pytest

from streams.engine.records import TopicPartition
from streams.errors import TopicsMismatch
from streams.log.tail import CursorAhead, CursorExpired, CursorInvalid, Filters, Tail
from tests.unit.envelopes import idea, transition
from tests.unit.views.bench import Bench
from topology.apc import APC_EVENTS, APC_INBOX, APC_PACKETS_DLQ
from topology.declarations import Topic
from topology.saop import RTES_EVENTS


def tail(
    bench: Bench,
    topic: Topic,
    start: str = "earliest",
    session_id: str | None = None,
    kind: str | None = None,
) -> Tail:
    return Tail(bench.log, topic, bench.settings.prefix, Filters(session_id, kind), start)


def read(following: Tail) -> list[str]:
    """The ids of what is there, up to the end."""
    ids = []
    for seen in following.follow(until_end=True):
        value = seen.value
        ids.append(str(value.get("sequence", value.get("event_id"))))
    return ids


def three_events(bench: Bench, session_id: str = "s1") -> None:
    for number in range(3):
        event = transition(number, task_id=f"t{number}") | {"session_id": session_id}
        bench.send("rtes.raw", event)


def test_from_the_earliest_record_to_the_end(bench: Bench) -> None:
    three_events(bench)
    following = tail(bench, RTES_EVENTS, session_id="s1")
    assert read(following) == ["1", "2", "3"]
    assert following.cursor() == "s1:3"


def test_from_the_end(bench: Bench) -> None:
    three_events(bench)
    for session_id in (None, "s1"):
        assert read(tail(bench, RTES_EVENTS, "latest", session_id)) == []


def test_a_session_that_is_followed_from_the_end_knows_its_sequence(bench: Bench) -> None:
    three_events(bench)
    following = tail(bench, RTES_EVENTS, "latest", "s1")
    assert read(following) == []
    assert following.cursor() == "s1:3"


def test_a_session_goes_on_behind_its_cursor(bench: Bench) -> None:
    three_events(bench, "a/b c")
    following = tail(bench, RTES_EVENTS, "a%2Fb%20c:1", "a/b c")
    assert read(following) == ["2", "3"]
    assert following.cursor() == "a%2Fb%20c:3"


def test_partitions_go_on_behind_their_cursor(bench: Bench) -> None:
    for number in range(8):
        three_events(bench, f"s{number}")
    following = tail(bench, RTES_EVENTS)
    records = [seen.record for seen in following.follow(until_end=True)]
    assert len(records) == 24
    assert {record.partition for record in records} == {0, 1}
    resumed = tail(bench, RTES_EVENTS, following.cursor())
    assert read(resumed) == []
    assert resumed.cursor() == following.cursor()
    three_events(bench, "new")
    assert read(tail(bench, RTES_EVENTS, following.cursor())) == ["1", "2", "3"]


def test_the_end_of_each_batch_is_told_after_its_records(bench: Bench) -> None:
    three_events(bench)
    seen: list[str] = []
    following = tail(bench, RTES_EVENTS).follow(True, on_batch=lambda: seen.append("end"))
    for observation in following:
        seen.append(str(observation.value["sequence"]))
    assert seen == ["1", "2", "3", "end"]


def test_a_cursor_names_every_partition_from_the_start(bench: Bench) -> None:
    assert tail(bench, RTES_EVENTS).cursor() == "0:-1,1:-1"


def test_a_partition_that_a_cursor_does_not_name_is_read_from_its_beginning(bench: Bench) -> None:
    for number in range(8):
        three_events(bench, f"s{number}")
    whole = [seen.record for seen in tail(bench, RTES_EVENTS).follow(until_end=True)]
    end = max(record.offset for record in whole if record.partition == 0)
    remaining = [
        seen.record for seen in tail(bench, RTES_EVENTS, f"0:{end}").follow(until_end=True)
    ]
    assert remaining == [record for record in whole if record.partition == 1]


def test_filters(bench: Bench) -> None:
    three_events(bench)
    bench.send("apc.packets", idea(1), idea(2, trace__session_id="s2"))
    assert len(read(tail(bench, RTES_EVENTS, kind="TASK_TRANSITION"))) == 5
    assert read(tail(bench, RTES_EVENTS, kind="SANDBOX_PULSE")) == []
    assert len(read(tail(bench, APC_EVENTS, session_id="s2"))) == 1
    assert len(read(tail(bench, APC_EVENTS, kind="IDEA"))) == 2
    inbox = [s.value for s in tail(bench, APC_INBOX, session_id="s1").follow(until_end=True)]
    assert [value["packet"]["trace"]["session_id"] for value in inbox] == ["s1"]


def test_filters_take_several_values_and_tasks(bench: Bench) -> None:
    for session_id in ("s1", "s2", "s3"):
        three_events(bench, session_id)
    bench.send("apc.packets", idea(1, trace__task_id="t1"), idea(2, trace__task_id="t2"))

    def count_of(topic: Topic, filters: Filters) -> int:
        following = Tail(bench.log, topic, bench.settings.prefix, filters, "earliest")
        return len(list(following.follow(until_end=True)))

    assert count_of(RTES_EVENTS, Filters(["s1", "s2"], "TASK_TRANSITION")) == 7  # and the packets'
    assert count_of(RTES_EVENTS, Filters(["s1", "s2"], task_id=["t0", "t2"])) == 4
    assert count_of(RTES_EVENTS, Filters("s1", ["TASK_TRANSITION", "x"], "t1")) == 1
    assert count_of(APC_INBOX, Filters(task_id="t2")) == 1


def test_a_tail_stops_behind_a_record_and_its_cursor_goes_on_with_the_next(bench: Bench) -> None:
    for number in range(4):
        bench.send("apc.packets", idea(number))
    following = tail(bench, APC_EVENTS)
    first: list[str] = []
    for seen in following.follow(until_end=True, stopped=lambda: len(first) == 2):
        first.append(seen.value["packet_id"])
    second = [
        s.value["packet_id"] for s in tail(bench, APC_EVENTS, following.cursor()).follow(True)
    ]
    assert len(first) == 2
    assert len(second) == 2
    assert not set(first) & set(second)


def test_dead_letters_are_shown_as_bytes(bench: Bench) -> None:
    bench.send_bytes("apc.packets", b"\x00nonsense")
    (seen,) = tail(bench, APC_PACKETS_DLQ).follow(until_end=True)
    assert seen.value == {"raw_base64": "AG5vbnNlbnNl"}


@pytest.mark.parametrize("start", ["", "x", "0", "0:", "0:1,", "0:-2", "s1:1"])
def test_what_is_no_cursor(bench: Bench, start: str) -> None:
    with pytest.raises(CursorInvalid):
        tail(bench, RTES_EVENTS, start)


@pytest.mark.parametrize("start", ["s2:1", "s1:x", "s1:-1", "0:1,1:1"])
def test_a_cursor_of_another_session(bench: Bench, start: str) -> None:
    with pytest.raises(CursorInvalid):
        tail(bench, RTES_EVENTS, start, "s1")


@pytest.mark.parametrize("start", ["0:5", "7:0"])
def test_a_cursor_beyond_the_end(bench: Bench, start: str) -> None:
    with pytest.raises(CursorAhead):
        tail(bench, APC_EVENTS, start)


def test_a_cursor_beyond_the_sequence_of_its_session(bench: Bench) -> None:
    three_events(bench)
    with pytest.raises(CursorAhead):
        read(tail(bench, RTES_EVENTS, "s1:4", "s1"))


def test_the_cursor_of_a_session_counts_what_was_filtered(bench: Bench) -> None:
    three_events(bench)
    following = tail(bench, RTES_EVENTS, session_id="s1", kind="SANDBOX_PULSE")
    assert read(following) == []
    assert following.cursor() == "s1:3"


def test_a_cursor_before_the_beginning(bench: Bench) -> None:
    bench.send("apc.packets", *[idea(n) for n in range(5)])
    (partition,) = {record.partition for record in bench.records("apc.events")}
    bench.log.truncate(TopicPartition("apc.events", partition), 4)
    with pytest.raises(CursorExpired):
        tail(bench, APC_EVENTS, f"{partition}:1")
    assert len(read(tail(bench, APC_EVENTS, f"{partition}:3"))) == 1


def test_the_cursor_of_a_session_before_the_beginning(bench: Bench) -> None:
    three_events(bench)
    (partition,) = {record.partition for record in bench.records("rtes.events")}
    (second,) = [r.offset for r in bench.records("rtes.events")][1:2]
    bench.log.truncate(TopicPartition("rtes.events", partition), second)
    with pytest.raises(CursorExpired) as caught:
        read(tail(bench, RTES_EVENTS, "s1:0", "s1"))
    assert caught.value.earliest == "s1:1"
    assert read(tail(bench, RTES_EVENTS, "s1:1", "s1")) == ["2", "3"]


def test_a_topic_that_is_missing(bench: Bench) -> None:
    with pytest.raises(TopicsMismatch, match=r"other\.apc\.events"):
        Tail(bench.log, APC_EVENTS, "other.", Filters())
