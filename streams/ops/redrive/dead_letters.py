"""Dead letters as records that may be sent again, or the reason why not."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

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
from streams.log.fetching import read_offsets
from streams.log.reading import partitions
from streams.log.record_json import headers_json
from topology import headers, topics
from topology.declarations import Topic

REDRIVEN_FROM = headers.REDRIVEN_FROM.name
_POSITION_PARTS = ("topic", "partition", "offset")
_NO_SOURCE = ("", 0)
_SERVICE_HEADERS = frozenset({CAUSE, OVERSIZE, MASKED, REDRIVEN_FROM, headers.MAC.name})
"""Headers that the service adds to a dead letter or its record, besides those of `DLT`."""


class RedriveStatus(StrEnum):
    """The redrive status of a dead letter."""

    READY = "ready"
    DONE = "done"  # it was sent back before
    FAILED_AGAIN = "failed_again"  # its record was itself sent back before
    UNDECODABLE = "undecodable"  # this version still cannot decode it
    MASKED = "masked"  # only masked text is stored, not its bytes
    GONE = "gone"  # it was too large to store, and its topic has removed it
    NO_RECORD = "no_record"  # a timer has failed, or no worker wrote it; there is nothing to send


class DeadLetter(NamedTuple):
    """A dead letter, and the record that it was made from.

    place: its position.  source: the position of the record, empty if the headers name none.
    topic: the record's topic.
    key, value, headers: those of the record as it was sent, at sent_at (ms).  code: why it became a
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
    standing: RedriveStatus

    def record(self, name: str) -> LogRecord:
        """Return the record as it was on its topic.  name: the topic's full name."""
        offset = int(self.source.rpartition("/")[2] or 0)
        coordinates = (name, self.partition, offset, self.sent_at)
        return LogRecord(*coordinates, self.key, self.value, self.headers)


class Selection(NamedTuple):
    """A filter of dead letters.  An empty set selects all.

    topics: names of input topics, without the prefix.  places: positions of dead letters, or of
    their records.  again: include those that failed once more after they were sent back.
    """

    topics: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    again: bool = False

    def check(self) -> None:
        """Raise UsageError for a topic that has no dead letters."""
        known = {source.name for source in SOURCES.values()}
        for name in sorted(self.topics - known):
            names = ", ".join(sorted(known))
            raise UsageError(f"{name} has no dead letters", advice=f"Those have: {names}.")

    def takes(self, dead_letter: DeadLetter) -> bool:
        return (
            (not self.topics or dead_letter.topic.name in self.topics)
            and (not self.codes or dead_letter.code in self.codes)
            and (
                not self.places
                or dead_letter.place in self.places
                or dead_letter.source in self.places
            )
        )


SOURCES = {
    dead: next(t for t in topics.ALL if t.is_input and f"{t.name}.dlq" == dead.name)
    for dead in TOPICS
}
"""The input topic of each topic of dead letters."""


def dead_letters(
    log: Log, prefix: str, selection: Selection, done: Container[DeadLetter]
) -> Iterator[DeadLetter]:
    """Yield the selected dead letters in the order of their topics and positions.

    done: those that were sent back.
    """
    selection.check()
    for dead, source in SOURCES.items():
        if selection.topics and source.name not in selection.topics:
            continue
        for record in read(log, dead, prefix):
            dead_letter = _to_letter(record, source)
            if selection.takes(dead_letter):
                yield _with_standing(dead_letter, record, log, selection.again, done)


def dead_letter_of(
    log: Log, topic: Topic, record: Record, done: Container[DeadLetter], again: bool = False
) -> DeadLetter:
    """Return the dead letter that a record of a dead letter topic is, with its status."""
    return _with_standing(_to_letter(record, SOURCES[topic]), record, log, again, done)


def _to_letter(record: Record, topic: Topic) -> DeadLetter:
    dlt_headers = headers_json(record)
    source, partition = _source_of(dlt_headers)
    sent_at = dlt_headers.get(f"{DLT}original-timestamp")
    return DeadLetter(
        position(record),
        source,
        topic,
        partition,
        record.key,
        record.value,
        [
            (n, v)
            for n, v in record.headers or ()
            if not n.startswith(DLT) and n not in _SERVICE_HEADERS
        ],
        sent_at if isinstance(sent_at, int) else 0,
        dlt_headers.get(f"{DLT}exception-fqcn") or "",
        RedriveStatus.READY,
    )


def _source_of(dlt_headers: Mapping[str, Any]) -> tuple[str, int]:
    """Return the position of the record and its partition; none where no worker wrote them."""
    name, partition, offset = (dlt_headers.get(f"{DLT}original-{part}") for part in _POSITION_PARTS)
    if not name or not isinstance(partition, int) or not isinstance(offset, int):
        return _NO_SOURCE
    return _NO_SOURCE if min(partition, offset) < 0 else (f"{name}/{partition}/{offset}", partition)


def is_oversize(record: Record) -> bool:
    """Return whether a dead letter has no value, since that of its record was too large."""
    return header(record, OVERSIZE) is not None


def _with_standing(
    dead_letter: DeadLetter, record: Record, log: Log, again: bool, done: Container[DeadLetter]
) -> DeadLetter:
    """Return the dead letter with the first reason that prevents sending it."""
    if dead_letter in done:
        return dead_letter._replace(standing=RedriveStatus.DONE)
    if header(record, MASKED) is not None:
        return dead_letter._replace(standing=RedriveStatus.MASKED)
    if not dead_letter.source:
        return dead_letter._replace(standing=RedriveStatus.NO_RECORD)
    if not again and header(record, REDRIVEN_FROM) is not None:
        return dead_letter._replace(standing=RedriveStatus.FAILED_AGAIN)
    if is_oversize(record):
        original = _read_original(log, dead_letter.source)
        if original is None:
            return dead_letter._replace(standing=RedriveStatus.GONE)
        sent_headers = [(n, v) for n, v in original.headers or () if n not in _SERVICE_HEADERS]
        dead_letter = dead_letter._replace(
            key=original.key, value=original.value, headers=sent_headers
        )
    if not _decodes(dead_letter):
        return dead_letter._replace(standing=RedriveStatus.UNDECODABLE)
    if dead_letter.key is None and not _has_partition(log, record, dead_letter.partition):
        return dead_letter._replace(standing=RedriveStatus.NO_RECORD)
    return dead_letter


def _has_partition(log: Log, record: Record, number: int) -> bool:
    """Return whether the topic of the record that a dead letter was made from has a partition."""
    name = record.topic.removesuffix(".dlq")
    return TopicPartition(name, number) in partitions(log, [name])


def _decodes(dead_letter: DeadLetter) -> bool:
    if dead_letter.value is None:
        return dead_letter.topic.nullable
    try:
        topic = dead_letter.topic
        decode(dead_letter.value, topic.record or "", topic.max_items)
    except Undecodable:
        return False
    return True


def _read_original(log: Log, source: str) -> Record | None:
    """Return the record that was too large for its dead letter, if its topic still has it."""
    name, number, offset = source.rsplit("/", 2)
    tp = TopicPartition(name, int(number))
    if tp not in partitions(log, [name]):
        return None
    return next(read_offsets(log, tp, [int(offset)]), None)
