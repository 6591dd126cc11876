"""Records and partitions: what the engine reads from a log and writes to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

Headers = Sequence[tuple[str, bytes]]


class TopicPartition(NamedTuple):
    """One partition of one topic; `topic` is the full name, prefix included."""

    topic: str
    partition: int


class Record(Protocol):
    """A record as read from a log: the shape that both Kafka clients' records have in common.

    timestamp is in ms since the epoch; topic is the full name, prefix included.
    """

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Headers: ...


class LogRecord(NamedTuple):
    """A `Record` made by this package."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class Output(NamedTuple):
    """A record to write.  partition None: murmur2(key) mod the topic's partition count."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None
    timestamp: int | None = None


def position(record: Record) -> str:
    """Return `topic/partition/offset`, the public name of a position on the log."""
    return f"{record.topic}/{record.partition}/{record.offset}"


def is_text(key: bytes | None) -> bool:
    """Return whether a key is UTF-8; no key counts as the empty text."""
    try:
        (key or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def header(record: Record, name: str) -> bytes | None:
    """Return the first header of that name, or None."""
    for key, value in record.headers or ():
        if key == name:
            return value
    return None
