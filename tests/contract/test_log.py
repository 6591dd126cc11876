"""The log contract (`streams.engine.log`), on both logs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from streams.engine.log import NewTopic, Pace, TopicInfo
from streams.engine.records import Output, TopicPartition
from streams.errors import BrokerUnavailable, Fenced, HeadraceError, TopicsMismatch
from tests.contract.twins import KafkaTwin, Twin, until
from tests.toy import FACTS, INPUT, SECOND, toy_record
from topology.keys import partition_of
from topology.topics import config_of

each_client = pytest.mark.parametrize("pace", [Pace.END, Pace.FEW])
"""Single records are read by another client."""


def output(twin: Twin, text: str, partition: int | None = 0) -> Output:
    return Output(twin.name(FACTS), text.encode(), text.encode(), (), partition)


def texts(twin: Twin) -> list[str]:
    return [(r.value or b"").decode() for r in twin.read(FACTS)]


def test_records_submitted_by_many_threads_take_places_of_their_own(twin: Twin) -> None:
    def send(number: int) -> list[tuple[bytes | None, int]]:
        outputs = [output(twin, f"{number}-{n}") for n in range(5)]
        placed = twin.log.submit(outputs).result(30)
        assert [record.value for record in placed] == [each.value for each in outputs]
        return [(record.value, record.offset) for record in placed]

    with ThreadPoolExecutor(8) as pool:
        placed = [each for positions in pool.map(send, range(40)) for each in positions]
    assert len({offset for _, offset in placed}) == 200
    assert twin.log.submit([]).result(30) == []


def test_appended_records_take_the_next_offsets(twin: Twin) -> None:
    tp = twin.tp(FACTS)
    assert twin.log.ends([tp]) == {tp: 0}
    placed = twin.log.append([output(twin, t) for t in "abc"])
    assert [(r.topic, r.partition, r.offset) for r in placed] == [(*tp, n) for n in range(3)]
    assert twin.log.ends([tp]) == {tp: 3}
    assert twin.log.starts([tp]) == {tp: 0}
    assert texts(twin) == ["a", "b", "c"]


def test_a_record_is_read_as_it_was_written(twin: Twin) -> None:
    heads: list[Any] = [("a", b"1"), ("a", b"2"), ("none", None), ("empty", b"")]
    written = [
        Output(twin.name(FACTS), None, None, heads, 0),
        Output(twin.name(FACTS), b"", b"", (), 0),
        Output(twin.name(FACTS), "ключ".encode(), bytes(range(256)), (), 0),
    ]
    twin.log.append(written)
    read = twin.read(FACTS)
    assert [(r.key, r.value) for r in read] == [(w.key, w.value) for w in written]
    assert [list(r.headers) for r in read] == [heads, [], []]


def test_keys_choose_partitions_as_the_topology_says(twin: Twin) -> None:
    wide = NewTopic(f"{twin.prefix}wide", 8, config_of(FACTS))
    twin.log.create([wide])
    until(lambda: wide.name in twin.log.topics())
    keys = [b"", b"a", b"session/1", "ключ".encode(), b"\0\xff", *(b"%d" % n for n in range(40))]
    placed = twin.log.append([Output(wide.name, key, b"") for key in keys])
    producer = twin.log.producer(f"{twin.prefix}wide")
    producer.open()
    for key, record in zip(keys, placed, strict=True):
        assert record.partition == partition_of(key, 8)
        ends = producer.commit([Output(wide.name, key, b"")])
        assert list(ends) == [TopicPartition(wide.name, partition_of(key, 8))]
    producer.close()
    twin.remove(wide.name)


def test_inputs_carry_the_time_of_the_log_others_their_own(twin: Twin) -> None:
    before = twin.clock()
    for topic in (INPUT, FACTS):
        twin.log.append([Output(twin.name(topic), b"k", b"v", (), 0, 1_000)])
    assert before <= twin.read(INPUT)[0].timestamp <= twin.clock()
    assert twin.read(FACTS)[0].timestamp == 1_000


@each_client
def test_a_reader_finds_the_first_record_since_a_time(twin: Twin, pace: Pace) -> None:
    times = (1_000, 3_000, 2_000, 4_000)
    twin.log.append([Output(twin.name(FACTS), b"k", b"v", (), 0, at) for at in times])
    tp = twin.tp(FACTS)
    with twin.log.reader({tp: 0}, pace) as reader:
        assert [reader.first_since(at) for at in (0, 1_001, 3_001)] == [{tp: 0}, {tp: 1}, {tp: 3}]
        assert reader.first_since(4_001) == {}


def test_a_transaction_is_seen_whole(twin: Twin) -> None:
    producer = twin.log.producer(f"{twin.prefix}p")
    producer.open()
    ends = producer.commit([output(twin, "a"), output(twin, "b")])
    assert ends == {twin.tp(FACTS): 2}
    assert texts(twin) == ["a", "b"]
    assert producer.commit([output(twin, "c")]) == {twin.tp(FACTS): 4}
    producer.close()
    assert texts(twin) == ["a", "b", "c"]


def test_who_has_read_to_the_high_watermarks_has_seen_every_commit(twin: Twin) -> None:
    """The last stable offset does not promise that: markers are written after the answer."""
    producer = twin.log.producer(f"{twin.prefix}p")
    producer.open()
    tps = [twin.tp(FACTS), twin.tp(SECOND)]
    for n in range(20):
        ends = producer.commit([Output(tp.topic, b"k", b"%d" % n, (), 0) for tp in tps])
        assert all(twin.log.high_watermarks(tps)[tp] >= ends[tp] for tp in tps)
    producer.close()
    assert [r.value for r in twin.read(FACTS)] == [b"%d" % n for n in range(20)]
    assert len(twin.read(SECOND)) == 20


def test_a_transaction_may_be_empty(twin: Twin) -> None:
    producer = twin.log.producer(f"{twin.prefix}p")
    producer.open()
    assert producer.commit([]) == {}
    assert producer.commit([output(twin, "a")]) == {twin.tp(FACTS): 1}
    producer.close()


def test_a_failed_commit_leaves_nothing(twin: Twin) -> None:
    producer = twin.log.producer(f"{twin.prefix}p")
    producer.open()
    with pytest.raises(HeadraceError):
        producer.commit([output(twin, "a"), output(twin, "b", 99)])
    producer.close()
    reopened = twin.log.producer(f"{twin.prefix}p")
    reopened.open()
    reopened.commit([output(twin, "c")])
    reopened.close()
    assert texts(twin) == ["c"]


def test_each_partition_ends_after_its_last_record(twin: Twin) -> None:
    producer = twin.log.producer(f"{twin.prefix}p")
    producer.open()
    outputs = [Output(twin.name(t), b"k", b"", (), 0) for t in (FACTS, SECOND, FACTS, FACTS)]
    assert producer.commit(outputs) == {twin.tp(FACTS): 3, twin.tp(SECOND): 1}
    producer.close()


def test_a_record_without_a_report_fails_its_transaction(
    twin: Twin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the last record of each partition reports; the client counts the failures of all."""
    monkeypatch.setattr("streams.engine.kafka.reported", lambda outputs: [False] * len(outputs))
    producer = twin.log.producer(f"{twin.prefix}p")
    producer.open()
    with pytest.raises(HeadraceError):
        producer.commit([output(twin, "a"), output(twin, "b", 99), output(twin, "c")])
    producer.close()
    assert texts(twin) == []


def test_a_second_open_fences_the_first(twin: Twin) -> None:
    first = twin.log.producer(f"{twin.prefix}p")
    first.open()
    first.commit([output(twin, "a")])
    second = twin.log.producer(f"{twin.prefix}p")
    second.open()
    with pytest.raises(Fenced):
        first.commit([output(twin, "b")])
    second.commit([output(twin, "c")])
    first.close()
    second.close()
    assert texts(twin) == ["a", "c"]


def test_other_ids_do_not_fence_each_other(twin: Twin) -> None:
    first = twin.log.producer(f"{twin.prefix}p")
    second = twin.log.producer(f"{twin.prefix}q")
    first.open()
    second.open()
    first.commit([output(twin, "a")])
    second.commit([output(twin, "b")])
    first.close()
    second.close()
    assert texts(twin) == ["a", "b"]


def test_an_aborted_transaction_takes_offsets_and_is_never_seen(twin: Twin) -> None:
    twin.abort([output(twin, "a")])
    tp = twin.tp(FACTS)
    until(lambda: twin.log.ends([tp]) == {tp: 2})
    assert texts(twin) == []
    twin.log.append([output(twin, "b")])
    assert [(r.offset, r.value) for r in twin.read(FACTS)] == [(2, b"b")]


@each_client
def test_a_reader_stands_behind_markers_at_the_end(twin: Twin, pace: Pace) -> None:
    producer = twin.log.producer(f"{twin.prefix}p")
    producer.open()
    producer.commit([output(twin, "a")])
    producer.close()
    tp = twin.tp(FACTS)
    until(lambda: twin.log.ends([tp]) == {tp: 2})
    with twin.log.reader({tp: 0}, pace) as reader:
        until(lambda: not reader.poll(0.1) and reader.position(tp) == 2)


@each_client
def test_a_reader_begins_and_goes_on_where_it_is_told(twin: Twin, pace: Pace) -> None:
    twin.log.append([output(twin, t) for t in "abcdef"])
    tp = twin.tp(FACTS)
    read: list[str] = []

    def texts_to(end: int) -> list[str]:
        def there() -> bool:
            read.extend((r.value or b"").decode() for r in reader.poll(0.1, 2))
            return bool(reader.position(tp) >= end)

        read.clear()
        until(there)
        return read

    with twin.log.reader({tp: 4}, pace) as reader:
        assert reader.position(tp) == 4
        assert texts_to(6) == ["e", "f"]
        reader.seek(tp, 1)
        assert reader.position(tp) == 1
        assert texts_to(6) == ["b", "c", "d", "e", "f"]
        reader.seek(tp, 0)
        assert texts_to(6) == ["a", "b", "c", "d", "e", "f"]


@each_client
def test_a_reader_may_seek_before_it_polls(twin: Twin, pace: Pace) -> None:
    twin.log.append([output(twin, t) for t in "abc"])
    tp = twin.tp(FACTS)
    with twin.log.reader({tp: 0}, pace) as reader:
        reader.seek(tp, 2)
        read: list[bytes | None] = []

        def there() -> bool:
            read.extend(r.value for r in reader.poll(0.1))
            return bool(reader.position(tp) >= 3)

        until(there)
    assert read == [b"c"]


@each_client
def test_a_reader_returns_no_more_than_asked(twin: Twin, pace: Pace) -> None:
    twin.log.append([output(twin, str(n)) for n in range(50)])
    tp = twin.tp(FACTS)
    read = []
    with twin.log.reader({tp: 0}, pace) as reader:
        while reader.position(tp) < 50:
            some = reader.poll(1, 7)
            assert len(some) <= 7
            read += some
    assert [r.offset for r in read] == list(range(50))


def test_deleted_records_move_the_start(twin: Twin) -> None:
    twin.log.append([output(twin, t) for t in "abc"])
    tp = twin.tp(FACTS)
    twin.truncate(tp, 2)
    assert twin.log.starts([tp]) == {tp: 2}
    assert twin.log.ends([tp]) == {tp: 3}
    assert texts(twin) == ["c"]


@pytest.mark.parametrize("pace", Pace)
def test_a_reader_of_any_pace_returns_all_records_and_sees_the_end(twin: Twin, pace: Pace) -> None:
    """Check it for batches of many records and of one."""
    for texts_of_batch in ["abcdef", *"ghij"]:
        twin.log.append([output(twin, text) for text in texts_of_batch])
    tp, read = twin.tp(FACTS), list[str]()
    with twin.log.reader({tp: 0}, pace) as reader:

        def at_the_end() -> bool:
            read.extend((record.value or b"").decode() for record in reader.poll(0.1))
            return bool(reader.position(tp) >= 10)

        until(at_the_end)
    assert read == list("abcdefghij")


@each_client
@pytest.mark.parametrize("position", [1, 9])
def test_a_reader_refuses_a_position_that_is_not_in_the_log(
    twin: Twin, position: int, pace: Pace
) -> None:
    twin.log.append([output(twin, t) for t in "abc"])
    tp = twin.tp(FACTS)
    twin.truncate(tp, 2)
    with twin.log.reader({tp: position}, pace) as reader, pytest.raises(BrokerUnavailable):
        until(lambda: bool(reader.poll(0.1)))


def own_topics(twin: Twin) -> dict[str, TopicInfo]:
    """The twin's own topics: other tests use the same broker."""
    topics = twin.log.topics()
    return {name: info for name, info in topics.items() if name.startswith(twin.prefix)}


def test_a_topic_created_again_has_another_id_and_is_empty(twin: Twin) -> None:
    twin.log.append([output(twin, "a")])
    topics, before = own_topics(twin), {topic: twin.topic_id(topic) for topic in (FACTS, INPUT)}
    twin.recreate(FACTS)
    assert twin.topic_id(FACTS) != before[FACTS]
    assert twin.topic_id(INPUT) == before[INPUT]
    assert own_topics(twin) == topics
    assert texts(twin) == []


def test_a_topic_that_is_not_there_has_no_id(twin: Twin) -> None:
    assert twin.log.topic_ids([]) == {}
    with pytest.raises(TopicsMismatch):
        twin.log.topic_ids([twin.name(INPUT), "no-such-topic"])


def test_creating_again_leaves_a_topic_as_it_is(twin: Twin) -> None:
    twin.log.append([output(twin, "a")])
    names = [spec.name for spec in twin.specs()]
    before = twin.log.topic_ids(names)
    twin.log.create([spec._replace(partitions=5) for spec in twin.specs()])
    assert twin.log.topic_ids(names) == before
    assert {twin.log.topics()[name].partitions for name in names} == {twin.partitions}
    assert texts(twin) == ["a"]


def test_a_topic_that_is_not_there_is_named(twin: Twin) -> None:
    absent = TopicPartition(f"{twin.prefix}absent", 0)
    with pytest.raises(TopicsMismatch):
        twin.log.ends([absent])
    with pytest.raises(TopicsMismatch):
        twin.log.starts([absent])
    assert absent.topic not in twin.log.topics()


def test_the_cluster_keeps_its_id(twin: Twin) -> None:
    assert twin.log.cluster_id() == twin.log.cluster_id() != ""


def test_the_topics_of_inputs_take_the_partition_of_their_key(twin: Twin) -> None:
    placed = twin.log.append([toy_record("a", prefix=twin.prefix)])
    assert placed[0].partition == partition_of(b"a", twin.partitions)


@each_client
def test_nothing_of_an_open_transaction_is_seen(twin: Twin, pace: Pace) -> None:
    tp = twin.tp(FACTS)
    other = twin.begin([output(twin, "open")])
    twin.log.append([output(twin, "behind")])
    assert twin.log.ends([tp]) == {tp: 0}
    assert twin.log.high_watermarks([tp]) == {tp: 2}
    with twin.log.reader({tp: 0}, pace) as reader:
        assert reader.poll(0.2) == []
        assert reader.position(tp) == 0
        other.commit()
        seen: list[bytes | None] = []

        def both() -> bool:
            seen.extend(r.value for r in reader.poll(0.1))
            return len(seen) == 2

        until(both)
    assert seen == [b"open", b"behind"]
    until(lambda: twin.log.ends([tp]) == {tp: 3})


def test_opening_aborts_what_the_former_owner_left_open(kafka_twin: KafkaTwin) -> None:
    twin = kafka_twin
    tp = twin.tp(FACTS)
    left = twin.producer()
    left.begin_transaction()
    left.produce(tp.topic, b"left", partition=0)
    assert left.flush(10) == 0
    producer = twin.log.producer(f"{twin.prefix}other")
    producer.open()
    producer.commit([output(twin, "mine")])
    producer.close()
    assert texts(twin) == ["mine"]
