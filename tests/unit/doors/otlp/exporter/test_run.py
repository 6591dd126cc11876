"""Records are done when the backend has answered for their spans, and not before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import pytest

from streams.doors.otlp.exporter.run import Exporter, Pipeline, exported_topics
from streams.doors.otlp.exporter.sender import Sent
from streams.doors.otlp.exporter.spans import ExportedSpan
from streams.engine.records import Record, TopicPartition
from tests.unit.doors.otlp.exporter.played import SCENARIOS, export, meaning, records_of

RECORDS = records_of((SCENARIOS / "refusals.jsonl").read_text().splitlines())
ENDS = {TopicPartition(each.topic, each.partition): each.offset + 1 for each in RECORDS}
"""By partition, in each of which the records are in their order."""
PARTITIONS = set(ENDS)


class Polled(NamedTuple):
    records: Sequence[Record] = ()
    taken: Collection[TopicPartition] = ()
    lost: Collection[TopicPartition] = ()
    ends: Mapping[TopicPartition, int] = MappingProxyType({})
    joined: bool = True


class Group:
    """A member that gets what a test says, poll by poll, and then nothing."""

    def __init__(self, *polls: Polled) -> None:
        self.offsets: dict[TopicPartition, int] = {}
        self.paused = False
        self.calls: list[str] = []
        self.now_s = 0.0
        self._polls = list(polls)

    def poll(self, timeout_s: float) -> Polled:
        self.now_s += timeout_s
        self.calls.append("poll paused" if self.paused else "poll")
        return self._polls.pop(0) if self._polls and not self.paused else Polled()

    def done(self, tp: TopicPartition, offset: int) -> None:
        self.calls.append("done")
        self.offsets[tp] = offset

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False


class Backend:
    """A backend that takes every span, up to a number of batches."""

    def __init__(self, group: Group, batches: int = 1000) -> None:
        self.batches: list[list[ExportedSpan]] = []
        self._group = group
        self._remaining = batches

    def send(self, spans: Sequence[ExportedSpan]) -> Sent | None:
        self._group.calls.append("send")
        if self._remaining == 0:
            return None
        self._remaining -= 1
        self.batches.append(list(spans))
        return Sent(exported=len(spans))


def exporter_of(
    group: Group,
    backend: Backend,
    batch_spans: int = 512,
    is_sampled: Callable[[ExportedSpan], bool] = lambda span: True,
) -> Exporter:
    pipeline = Pipeline("", meaning, is_sampled, backend.send, batch_spans, delay_s=1.0)
    return Exporter(group, pipeline, lambda: group.now_s)


def never() -> bool:
    return False


def test_it_ends_when_all_its_partitions_are_read() -> None:
    half = len(RECORDS) // 2
    group = Group(
        Polled(joined=False),
        Polled(RECORDS[:half], taken=PARTITIONS),
        Polled(RECORDS[half:], ends=ENDS),
    )
    backend = Backend(group)
    exporter = exporter_of(group, backend)
    assert exporter.run(never, ENDS)
    assert exporter.sent == Sent(exported=sum(map(len, backend.batches)))
    assert group.offsets == ENDS


def test_markers_before_an_end_are_done_with_the_records() -> None:
    ends = {tp: end + 1 for tp, end in ENDS.items()}
    group = Group(Polled(RECORDS, taken=PARTITIONS), Polled(ends=ends))
    exporter_of(group, Backend(group)).run(lambda: group.now_s > 3)
    assert group.offsets == ends


def test_it_stops_at_the_ends_of_the_beginning_though_more_comes() -> None:
    group = Group(Polled(RECORDS, taken=PARTITIONS), Polled(RECORDS))
    backend = Backend(group)
    assert exporter_of(group, backend).run(never, ENDS)
    assert len(backend.batches) == 1


def test_a_record_is_done_after_the_answer() -> None:
    group = Group(Polled(RECORDS, taken=PARTITIONS))
    exporter_of(group, Backend(group, batches=0)).run(never, ENDS)
    assert group.offsets == {}
    group = Group(Polled(RECORDS, taken=PARTITIONS))
    exporter_of(group, Backend(group), batch_spans=5).run(never, ENDS)
    assert group.calls.index("done") > len(group.calls) - 1 - group.calls[::-1].index("send")


@pytest.mark.parametrize("batch_spans", [1, 7, 512])
def test_a_request_has_so_many_spans_at_most(batch_spans: int) -> None:
    group = Group(Polled(RECORDS, taken=PARTITIONS))
    backend = Backend(group)
    exporter = exporter_of(group, backend, batch_spans)
    exporter.run(never, ENDS)
    assert max(map(len, backend.batches)) <= batch_spans
    assert sum(map(len, backend.batches)) == exporter.sent.exported == len(export(RECORDS))


def test_few_spans_wait_for_others_no_longer_than_the_delay() -> None:
    group = Group(Polled(RECORDS[:2], taken=PARTITIONS))
    backend = Backend(group)
    exporter_of(group, backend).run(lambda: group.now_s > 3)
    assert len(backend.batches) == 1
    assert 10 <= group.calls.index("send") <= 12


def test_lost_partitions_are_left_to_their_new_owner() -> None:
    lost = {TopicPartition(RECORDS[0].topic, RECORDS[0].partition)}
    group = Group(Polled(RECORDS, taken=PARTITIONS), Polled(lost=lost))
    exporter_of(group, Backend(group)).run(lambda: group.now_s > 3)
    assert set(group.offsets) == PARTITIONS - lost


def test_spans_that_are_not_sampled_are_done_all_the_same() -> None:
    group = Group(Polled(RECORDS, taken=PARTITIONS))
    backend = Backend(group)
    exporter_of(group, backend, is_sampled=lambda span: False).run(never, ENDS)
    assert backend.batches == []
    assert group.offsets == ENDS


def test_it_stays_in_the_group_while_the_backend_is_away() -> None:
    group = Group(Polled(RECORDS, taken=PARTITIONS))
    exporter = exporter_of(group, Backend(group))
    assert exporter.wait(2.0, never) is False
    assert group.calls.count("poll paused") >= 20
    assert not group.paused
    assert exporter.wait(2.0, lambda: True) is True


def test_the_topics_are_those_of_people_and_agents() -> None:
    topics = exported_topics("acme.")
    assert {"acme.apc.packets", "acme.apc.events", "acme.apc.inbox", "acme.apc.packets.dlq"} <= set(
        topics
    )
    assert not any(name.startswith("acme.otel.") for name in topics)
