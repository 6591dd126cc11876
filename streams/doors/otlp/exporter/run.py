"""The exporter: it reads records as a member of a consumer group, and sends their spans.

A record is done when the backend has answered for its spans, so a killed exporter sends again what
was not answered, with the same ids.  Source: OTel guide, 10.3.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from streams.doors.otlp.exporter.sender import Sent
from streams.doors.otlp.exporter.spans import ExportedSpan, Meaning, is_exported, spans_of
from streams.engine.records import Record, TopicPartition
from topology.topics import ALL, full_name

_POLL_S = 0.1
Clock = Callable[[], float]


class Polled(Protocol):
    """The result of one poll; `streams.engine.kafka_group` describes its members."""

    @property
    def records(self) -> Sequence[Record]: ...
    @property
    def taken(self) -> Collection[TopicPartition]: ...
    @property
    def lost(self) -> Collection[TopicPartition]: ...
    @property
    def ends(self) -> Mapping[TopicPartition, int]: ...
    @property
    def joined(self) -> bool: ...


class Group(Protocol):
    """One member of a consumer group."""

    def poll(self, timeout_s: float) -> Polled: ...

    def done(self, tp: TopicPartition, offset: int) -> None: ...

    def pause(self) -> None:
        """Stop the delivery of records; a poll still keeps the membership."""

    def resume(self) -> None: ...


class Pipeline(NamedTuple):
    """The steps from a record to the backend.

    prefix: of topic names.  send: returns None if it was stopped.  batch_spans: of one call of
    `send` at most.  delay_s: how long a span waits for others.
    """

    prefix: str
    meaning: Meaning
    is_sampled: Callable[[ExportedSpan], bool]
    send: Callable[[Sequence[ExportedSpan]], Sent | None]
    batch_spans: int
    delay_s: float

    def spans(self, record: Record) -> Iterable[ExportedSpan]:
        """Return the spans of a record that are exported."""
        topic = _BY_NAME[record.topic.removeprefix(self.prefix)]
        spans = spans_of(record, topic, self.prefix, self.meaning)
        return filter(self.is_sampled, spans)


_BY_NAME = {topic.name: topic for topic in ALL if is_exported(topic)}


def exported_topics(prefix: str) -> list[str]:
    """Return the full names of the topics that the exporter reads."""
    return [full_name(topic, prefix) for topic in _BY_NAME.values()]


class Exporter:
    """One member of the group of exporters.  `sent` counts the spans that were answered for."""

    def __init__(self, group: Group, pipeline: Pipeline, clock: Clock = time.monotonic) -> None:
        self.sent = Sent()
        self._group = group
        self._pipeline = pipeline
        self._clock = clock
        self._spans: list[ExportedSpan] = []
        self._positions: dict[TopicPartition, int] = {}
        self._since_s = 0.0
        self._owned: set[TopicPartition] = set()
        self._at_end: set[TopicPartition] = set()
        self._joined = False

    @property
    def joined(self) -> bool:
        """Return whether the group has assigned partitions to this member, maybe none."""
        return self._joined

    def run(
        self, stopped: Callable[[], bool], ends: Mapping[TopicPartition, int] | None = None
    ) -> bool:
        """Export until it is stopped; return whether it came to the end.

        ends: stop once each partition that this member has is read up to there.
        """
        while not stopped():
            self._take(self._group.poll(_POLL_S), ends or {})
            is_last = ends is not None and self._joined and self._owned <= self._at_end
            if (is_last or self._is_due()) and not self._send():
                return False
            if is_last:
                return True
        return False

    def wait(self, seconds: float, stopped: Callable[[], bool]) -> bool:
        """Wait for the backend as a member of the group; return whether to stop.

        Meanwhile no records come, however long the backend is away.
        """
        until_s = self._clock() + seconds
        while not stopped() and (remaining_s := until_s - self._clock()) > 0:
            self._group.pause()
            self._take(self._group.poll(min(remaining_s, _POLL_S)), {})
        self._group.resume()
        return stopped()

    def _take(self, polled: Polled, ends: Mapping[TopicPartition, int]) -> None:
        """Take over what was read.  Records of lost partitions belong to their new owner."""
        self._joined = self._joined or polled.joined
        for tp in polled.lost:
            self._positions.pop(tp, None)
        self._owned = (self._owned - set(polled.lost)) | set(polled.taken)
        self._at_end = (self._at_end - set(polled.lost)) | set(polled.ends)
        if (polled.records or polled.ends) and not self._positions:
            self._since_s = self._clock()
        for record in polled.records:
            tp = TopicPartition(record.topic, record.partition)
            self._spans += self._pipeline.spans(record)
            self._positions[tp] = record.offset + 1
            if record.offset + 1 >= ends.get(tp, record.offset + 2):
                self._at_end.add(tp)
        for tp, offset in polled.ends.items():  # markers of transactions may be before the end
            self._positions[tp] = max(offset, self._positions.get(tp, 0))

    def _is_due(self) -> bool:
        is_late = self._clock() - self._since_s >= self._pipeline.delay_s
        is_full = len(self._spans) >= self._pipeline.batch_spans
        return bool(self._positions) and (is_full or is_late)

    def _send(self) -> bool:
        """Send all spans, then mark their records as done; return False if it was stopped."""
        spans, self._spans = self._spans, []
        positions, self._positions = self._positions, {}
        size = self._pipeline.batch_spans
        for start in range(0, len(spans), size):
            sent = self._pipeline.send(spans[start : start + size])
            if sent is None:
                return False
            self.sent = self.sent.plus(sent)
        for tp, offset in positions.items():
            self._group.done(tp, offset)
        return True
