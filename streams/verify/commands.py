"""The commands that are decided, each owed one verdict or one dead letter."""

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
from streams.replay.cut import LETTERS, Cut
from streams.replay.facts import text_of
from streams.replay.findings import Fault, Findings
from streams.replay.scratch import Scratch, Values
from streams.telemetry.progress import Bar
from topology import topics
from topology.declarations import Topic
from topology.verdicts import VERDICTS

_CHUNK = 1000


class Answer(NamedTuple):
    """What a fact says of a command.  place: the fact's own."""

    cause: str
    place: str


class Commands:
    """All commands below the positions of the tasks, in a scratch.

    Those of the log that retention or compaction has taken are nobody's fault.
    """

    def __init__(self, log: Log, prefix: str, cut: Cut, scratch: Scratch) -> None:
        self._log, self._prefix, self._cut = log, prefix, cut
        self._scratch = scratch
        self._records = Values(scratch, "command")
        self._answers = Values(scratch, "answer")
        self._topics = {prefix + topic.name: topic for topic in VERDICTS}
        self._tps = [tp for tp in partitions(log, self._topics) if tp in cut.decided]
        self._starts = log.starts(self._tps)
        self._since_when: dict[TopicPartition, int] = {}
        self.counts: Counter[str] = Counter()
        self.unchecked = 0

    def read(self, bar: Bar) -> None:
        ends = {tp: self._cut.decided[tp] for tp in self._tps}
        for record in records(self._log, self._tps, ends, self._starts):
            self._records.put(_plain(record), position(record))
            self.counts[self._topics[record.topic].name] += 1
            bar.advance()

    def get(self, place: str) -> Message | None:
        """A command that decodes; None for one that is not there."""
        record = self._records.get(place)
        if record is None:
            return None
        topic = self._topics[record.topic]
        if record.value is None:
            return Message(topic, record, {}, b"", False)
        read = decode(record.value, topic.record or "")
        return Message(topic, record, read.value, read.body, False)

    def value(self, place: str) -> Mapping[str, Any] | None:
        """What foldings ask for."""
        found = self.get(place)
        return None if found is None else found.value

    def answer(self, topic: Topic | None, answer: Answer, found: Findings) -> None:
        """Note a verdict (topic: of the fact) or a dead letter (None)."""
        source = self._topics.get(answer.cause.rsplit("/", 2)[0])
        if source is None or (topic is not None and topic not in VERDICTS[source]):
            return
        first = self._answers.get(answer.cause)
        if first is not None:
            told = f"{answer.cause} was answered by {first} already"
            found.add(Fault.ANSWERED_TWICE, answer.place, told)
            return
        self._answers.put(answer.place, answer.cause)
        if self._records.get(answer.cause) is None and self._ought_to_be(source, answer.cause):
            told = f"it answers {answer.cause}, where no record lies"
            found.add(Fault.WITHOUT_RECORD, answer.place, told)

    def _ought_to_be(self, source: Topic, cause: str) -> bool:
        name, number, offset = [*cause.rsplit("/", 2), "", ""][:3]
        if not (number.isdecimal() and offset.isdecimal()):
            return True
        tp = TopicPartition(name, int(number))
        if source.compacted or tp not in self._starts:
            return False
        return self._starts[tp] <= int(offset) < self._cut.decided[tp]

    def letters(self, found: Findings) -> Mapping[str, int]:
        """Take the dead letters as answers; returns, by topic, when the oldest kept one came.

        A topic whose letters are all there has 0.
        """
        oldest: dict[str, int] = {}
        for letter in LETTERS:
            tps = partitions(self._log, [self._prefix + letter.name])
            begun = any(self._cut.starts[tp] for tp in tps)
            ends = {tp: self._cut.after[tp] for tp in tps}
            oldest[letter.name] = 2**63 if begun else 0
            for record in records(self._log, tps, ends):
                answer = Answer(text_of(record, CAUSE), position(record))
                self.answer(None, answer, found)
                oldest[letter.name] = min(oldest[letter.name], record.timestamp)
        return oldest

    def unanswered(self, held: frozenset[str], oldest: Mapping[str, int], found: Findings) -> None:
        """held: positions of those that wait.  Call it when all facts have been read."""
        for place, record in self._unanswered():
            topic = self._topics[record.topic]
            letters = topics.dead_letters_of(topic).name
            if place in held:
                continue
            if record.timestamp < max(oldest[letters], self._since(topic, record.partition)):
                self.unchecked += 1  # its dead letter or its verdict may be gone
                continue
            told = f"the record on {topic.name} was read, and has neither verdict nor dead letter"
            found.add(Fault.UNANSWERED, place, told)

    def _since(self, topic: Topic, partition: int) -> int:
        """From when on the verdicts of a partition are all there; 0 where none is gone."""
        names = [self._prefix + facts.name for facts in VERDICTS[topic]]
        return max(self._kept_since(TopicPartition(name, partition)) for name in names)

    def _kept_since(self, tp: TopicPartition) -> int:
        if tp not in self._since_when:
            start, first = self._cut.starts.get(tp, 0), None
            if start:
                first = next(records(self._log, [tp], self._cut.after, self._cut.starts), None)
            beyond = 2**63 if first is None else first.timestamp + 1
            self._since_when[tp] = beyond if start else 0
        return self._since_when[tp]

    def _unanswered(self) -> Iterator[tuple[str, LogRecord]]:
        chunk: list[tuple[str, LogRecord]] = []
        for item in self._records.items():
            chunk.append(item)
            if len(chunk) == _CHUNK:
                yield from self._without(chunk)
                chunk = []
        yield from self._without(chunk)

    def _without(self, chunk: list[tuple[str, LogRecord]]) -> Iterator[tuple[str, LogRecord]]:
        answers = self._answers.get_many([place for place, _ in chunk])
        return (item for item, answer in zip(chunk, answers, strict=True) if answer is None)


def _plain(record: Record) -> LogRecord:
    return LogRecord(
        record.topic,
        record.partition,
        record.offset,
        record.timestamp,
        record.key,
        record.value,
        [(name, value) for name, value in record.headers or ()],
    )
