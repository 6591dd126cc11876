"""Dead letters as records that may be sent again, or the reason why one may not."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import StrEnum
from typing import NamedTuple

from schemas import Undecodable, decode
from streams.engine.headers import CAUSE, DLT, MASKED, OVERSIZE
from streams.engine.log import Log
from streams.engine.records import (
    Headers,
    LogRecord,
    Record,
    TopicPartition,
    header,
    position,
)
from streams.errors import UsageError
from streams.log.dead_letters import TOPICS, read
from streams.log.reading import partitions, records
from streams.log.record_json import headers_json
from topology import headers, topics
from topology.declarations import Topic

REDRIVEN_FROM = headers.REDRIVEN_FROM.name
_PLACE = ("topic", "partition", "offset")
_OWN = frozenset({CAUSE, OVERSIZE, MASKED, REDRIVEN_FROM})
"""Headers that the service put on the dead letter or its record, beside those of `DLT`."""


class Standing(StrEnum):
    """Whether a dead letter can be sent back."""

    READY = "ready"
    DONE = "done"  # it was sent back before
    FAILED_AGAIN = "failed_again"  # it came from a record that was sent back already
    UNDECODABLE = "undecodable"  # its bytes are still none that this version reads
    MASKED = "masked"  # what is kept of it is masked text, not its bytes
    GONE = "gone"  # it was too large to keep, and its topic holds it no more
    NO_RECORD = "no_record"  # a timer that failed; there is nothing to send


class Letter(NamedTuple):
    """place: its position.  source: of the record that it was.  topic: of that record.

    key, value, headers: of the record as it was sent, at sent_at (ms).  code: why it became a
    dead letter.
    """

    place: str
    source: str
    topic: Topic
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    sent_at: int
    code: str
    standing: Standing

    def record(self, name: str) -> LogRecord:
        """As it lay on its topic, whose full name this is."""
        offset = int(self.source.rpartition("/")[2] or 0)
        place = (name, self.partition, offset, self.sent_at)
        return LogRecord(*place, self.key, self.value, self.headers)


class Wanted(NamedTuple):
    """Which dead letters.  Empty sets want all.

    topics: names of input topics, without the prefix.  places: their own positions or those of
    the records they were.  again: those too that failed once more after they were sent back.
    """

    topics: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    again: bool = False

    def check(self) -> None:
        """Raises UsageError for a topic that has no dead letters."""
        known = {source.name for source in _SOURCES.values()}
        for name in sorted(self.topics - known):
            listed = ", ".join(sorted(known))
            raise UsageError(f"{name} has no dead letters", advice=f"Those have: {listed}.")

    def takes(self, letter: Letter) -> bool:
        return (
            (not self.topics or letter.topic.name in self.topics)
            and (not self.codes or letter.code in self.codes)
            and (not self.places or letter.place in self.places or letter.source in self.places)
        )


_SOURCES = {
    dead: next(t for t in topics.ALL if t.is_input and f"{t.name}.dlq" == dead.name)
    for dead in TOPICS
}
"""The input topic of each topic of dead letters."""


def letters(log: Log, prefix: str, wanted: Wanted, done: Collection[str]) -> Iterator[Letter]:
    """Those that are wanted, in the order of their topics and positions.

    done: the positions of those that were sent back.
    """
    wanted.check()
    for dead, source in _SOURCES.items():
        if wanted.topics and source.name not in wanted.topics:
            continue
        for record in read(log, dead, prefix):
            letter = _letter(record, source)
            if wanted.takes(letter):
                yield _judged(letter, record, log, wanted, done)


def _letter(record: Record, topic: Topic) -> Letter:
    told = headers_json(record)
    name, partition, offset = (told.get(f"{DLT}original-{part}") for part in _PLACE)
    source = "" if name is None else f"{name}/{partition}/{offset}"
    return Letter(
        position(record),
        source,
        topic,
        partition or 0,
        record.key,
        record.value,
        [(n, v) for n, v in record.headers or () if not n.startswith(DLT) and n not in _OWN],
        told.get(f"{DLT}original-timestamp") or 0,
        told.get(f"{DLT}exception-fqcn", ""),
        Standing.READY,
    )


def _judged(
    letter: Letter, record: Record, log: Log, wanted: Wanted, done: Collection[str]
) -> Letter:
    """The letter with what stands against sending it, the first reason of all."""
    if letter.place in done:
        return letter._replace(standing=Standing.DONE)
    if header(record, MASKED) is not None:
        return letter._replace(standing=Standing.MASKED)
    if not letter.source:
        return letter._replace(standing=Standing.NO_RECORD)
    if not wanted.again and header(record, REDRIVEN_FROM) is not None:
        return letter._replace(standing=Standing.FAILED_AGAIN)
    if header(record, OVERSIZE) is not None:
        original = _original(log, letter.source)
        if original is None:
            return letter._replace(standing=Standing.GONE)
        given = [(n, v) for n, v in original.headers or () if n not in _OWN]
        letter = letter._replace(key=original.key, value=original.value, headers=given)
    if not _decodes(letter):
        return letter._replace(standing=Standing.UNDECODABLE)
    return letter


def _decodes(letter: Letter) -> bool:
    if letter.value is None:
        return letter.topic.takes_null
    try:
        decode(letter.value, letter.topic.record or "")
    except Undecodable:
        return False
    return True


def _original(log: Log, source: str) -> Record | None:
    """The record that a dead letter was too small to hold, if its topic still has it."""
    name, number, offset = source.rsplit("/", 2)
    tp, place = TopicPartition(name, int(number)), int(offset)
    if tp not in partitions(log, [name]) or place < log.starts([tp])[tp]:
        return None
    found = (r for r in records(log, [tp], {tp: place + 1}, {tp: place}) if r.offset == place)
    return next(found, None)
