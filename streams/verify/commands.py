"""The decided commands; each must have one verdict or one dead letter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from schemas import decode
from streams.engine.headers import CAUSE
from streams.engine.log import Log
from streams.engine.processor import Message
from streams.engine.records import LogRecord, Record, TopicPartition, position
from streams.log.reading import partitions, records
from streams.replay.consistent_cut import DEAD_LETTERS, ConsistentCut
from streams.replay.facts import header_text
from streams.replay.spill import SpillMap, SpillStore
from streams.replay.violations import ViolationKind, Violations
from streams.telemetry.progress import Bar
from topology import topics
from topology.declarations import Topic
from topology.verdicts import VERDICTS

_CHUNK = 1000
_MAX_DIGITS = 18


class CommandVerdict(NamedTuple):
    """A verdict or a dead letter of a command.

    place: the position of the verdict or dead letter itself.
    """

    cause: str
    place: str


class Commands:
    """All commands below the positions of the tasks, in a scratch store.

    Commands that retention or compaction has removed are no violation.
    """

    def __init__(self, log: Log, prefix: str, cut: ConsistentCut, scratch: SpillStore) -> None:
        self._log, self._prefix, self._cut = log, prefix, cut
        self._scratch = scratch
        self._records = SpillMap(scratch, "command")
        self._answers = SpillMap(scratch, "answer")
        self._topics = {prefix + topic.name: topic for topic in VERDICTS}
        self._tps = [tp for tp in partitions(log, self._topics) if tp in cut.decided]
        self._starts = log.starts(self._tps)
        self._complete_from: dict[TopicPartition, int] = {}
        self.counts: Counter[str] = Counter()
        self.unchecked = 0

    def read(self, bar: Bar) -> None:
        ends = {tp: self._cut.decided[tp] for tp in self._tps}
        for record in records(self._log, self._tps, ends, self._starts):
            self._records.put(to_log_record(record), position(record))
            self.counts[self._topics[record.topic].name] += 1
            bar.advance()

    def get(self, place: str) -> Message | None:
        """Return the decoded command at a position, None if there is none.  Raises Undecodable."""
        record = self._records.get(place)
        if record is None:
            return None
        return to_message(self._topics[record.topic], record)

    def value(self, place: str) -> Mapping[str, Any] | None:
        """Return the Avro value of the command at a position, for folds."""
        message = self.get(place)
        return None if message is None else message.value

    def answer(self, topic: Topic | None, answer: CommandVerdict, findings: Violations) -> None:
        """Record a verdict (topic: of the fact) or a dead letter (topic: None)."""
        source = self._topics.get(answer.cause.rsplit("/", 2)[0])
        if source is None or (topic is not None and topic not in VERDICTS[source]):
            return
        first = self._answers.get(answer.cause)
        if first is not None:
            message = f"{answer.cause} was answered by {first} already"
            findings.add(ViolationKind.ANSWERED_TWICE, answer.place, message)
            return
        self._answers.put(answer.place, answer.cause)
        if self._records.get(answer.cause) is None and self._should_exist(source, answer.cause):
            message = f"it answers {answer.cause}, where no record lies"
            findings.add(ViolationKind.WITHOUT_RECORD, answer.place, message)

    def _should_exist(self, source: Topic, cause: str) -> bool:
        name, number, offset = [*cause.rsplit("/", 2), "", ""][:3]
        if not (is_offset(number) and is_offset(offset)):
            return True
        tp = TopicPartition(name, int(number))
        if source.compacted or tp not in self._starts:
            return False
        return self._starts[tp] <= int(offset) < self._cut.decided[tp]

    def letters(self, findings: Violations) -> Mapping[str, int]:
        """Record the dead letters as answers; return the time of each topic's oldest one.

        A topic that has lost no dead letter has 0.
        """
        oldest: dict[str, int] = {}
        for topic in DEAD_LETTERS:
            tps = partitions(self._log, [self._prefix + topic.name])
            is_truncated = any(self._cut.starts[tp] for tp in tps)
            ends = {tp: self._cut.after[tp] for tp in tps}
            oldest[topic.name] = 2**63 if is_truncated else 0
            for record in records(self._log, tps, ends):
                answer = CommandVerdict(header_text(record, CAUSE), position(record))
                self.answer(None, answer, findings)
                oldest[topic.name] = min(oldest[topic.name], record.timestamp)
        return oldest

    def unanswered(
        self, parked: frozenset[str], oldest: Mapping[str, int], findings: Violations
    ) -> None:
        """Add a finding for each command without an answer.  Call it when all facts have been read.

        parked: positions of the commands that are parked.
        """
        for place, record in self._without_answer():
            topic = self._topics[record.topic]
            dead_letters = topics.dead_letters_of(topic).name
            if place in parked:
                continue
            if record.timestamp < max(
                oldest[dead_letters], self._verdicts_complete_from(topic, record.partition)
            ):
                self.unchecked += 1  # its dead letter or verdict may have been removed
                continue
            message = (
                f"the record on {topic.name} was read, and has neither verdict nor dead letter"
            )
            findings.add(ViolationKind.UNANSWERED, place, message)

    def _verdicts_complete_from(self, topic: Topic, partition: int) -> int:
        """Return the time since which no verdict of a partition is missing; 0 if none is."""
        names = [self._prefix + facts.name for facts in VERDICTS[topic]]
        return max(self._topic_complete_from(TopicPartition(name, partition)) for name in names)

    def _topic_complete_from(self, tp: TopicPartition) -> int:
        if tp not in self._complete_from:
            start, first = self._cut.starts.get(tp, 0), None
            if start:
                first = next(records(self._log, [tp], self._cut.after, self._cut.starts), None)
            complete_from = 2**63 if first is None else first.timestamp + 1
            self._complete_from[tp] = complete_from if start else 0
        return self._complete_from[tp]

    def _without_answer(self) -> Iterator[tuple[str, LogRecord]]:
        chunk: list[tuple[str, LogRecord]] = []
        for item in self._records.items():
            chunk.append(item)
            if len(chunk) == _CHUNK:
                yield from self._filter_unanswered(chunk)
                chunk = []
        yield from self._filter_unanswered(chunk)

    def _filter_unanswered(
        self, chunk: list[tuple[str, LogRecord]]
    ) -> Iterator[tuple[str, LogRecord]]:
        answers = self._answers.get_many([place for place, _ in chunk])
        return (item for item, answer in zip(chunk, answers, strict=True) if answer is None)


def to_message(topic: Topic, record: LogRecord) -> Message:
    """Decode a command.  Raises Undecodable."""
    if record.value is None:
        return Message(topic, record, {}, b"", False)
    decoded = decode(record.value, topic.record or "", topic.max_items)
    return Message(topic, record, decoded.value, decoded.body, False)


def is_offset(text: str) -> bool:
    """Return whether a part of a cause is a number that fits into 64 bits."""
    return text.isdecimal() and len(text) <= _MAX_DIGITS


def to_log_record(record: Record) -> LogRecord:
    return LogRecord(
        record.topic,
        record.partition,
        record.offset,
        record.timestamp,
        record.key,
        record.value,
        [(name, value) for name, value in record.headers or ()],
    )
