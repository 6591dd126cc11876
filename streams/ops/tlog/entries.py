"""The entries of the log: one line of text for each record, without its payload.

    record <topic>/<partition>/<offset> <timestamp> sha256:<digest>
    gap <topic>/<partition> <from> <to> <timestamp>

Numbers are decimal without leading zeros; timestamps are ms since the epoch.  A reader skips lines
of other kinds, and hashes them all the same.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import NamedTuple

from streams.engine.records import Record

_NUMBER = "0|[1-9][0-9]{0,18}"
_PARTITION = rf"(?P<topic>[A-Za-z0-9._-]{{1,249}})/(?P<partition>{_NUMBER})"
_RECORD = re.compile(
    rf"record {_PARTITION}/(?P<offset>{_NUMBER}) (?P<timestamp>{_NUMBER})"
    r" sha256:(?P<sha256>[0-9a-f]{64})\n"
)
_GAP = re.compile(
    rf"gap {_PARTITION} (?P<first>{_NUMBER}) (?P<last>{_NUMBER}) (?P<timestamp>{_NUMBER})\n"
)
_MAX_NUMBER = (1 << 63) - 1
_LENGTH_BYTES = 8
_NULL = b"\xff" * _LENGTH_BYTES


class RecordEntry(NamedTuple):
    """An entry that says that a record with this digest (hex) lay at a position."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    sha256: str

    @property
    def position(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"

    @property
    def begin(self) -> int:
        return self.offset

    @property
    def end(self) -> int:
        """Return the offset after it."""
        return self.offset + 1

    def encode(self) -> bytes:
        return f"record {self.position} {self.timestamp} sha256:{self.sha256}\n".encode()


class GapEntry(NamedTuple):
    """An entry that says that records from `first` to `last` were not there when they were due."""

    topic: str
    partition: int
    first: int
    last: int
    timestamp: int

    @property
    def begin(self) -> int:
        return self.first

    @property
    def end(self) -> int:
        """Return the offset after it."""
        return self.last + 1

    def encode(self) -> bytes:
        partition = f"{self.topic}/{self.partition}"
        return f"gap {partition} {self.first} {self.last} {self.timestamp}\n".encode()


Entry = RecordEntry | GapEntry


def entry_of(record: Record) -> RecordEntry:
    """Return the entry of a record; the time of one that has none, and so a negative one, is 0."""
    digest = record_digest(record.key, record.value, record.headers or ())
    timestamp = max(0, record.timestamp)
    return RecordEntry(record.topic, record.partition, record.offset, timestamp, digest)


def sort_key(entry: Entry) -> tuple[str, int, int]:
    """Return what the entries of one batch are ordered by: topic, partition, offset."""
    return entry.topic, entry.partition, entry.begin


def parse_entry(line: bytes) -> Entry | None:
    """Return the entry that a line is, None if it is of no known kind or form."""
    try:
        text = line.decode("ascii")
    except UnicodeDecodeError:
        return None
    if (record := _RECORD.fullmatch(text)) is not None:
        partition, offset, timestamp = _numbers(record, "partition", "offset", "timestamp")
        entry = RecordEntry(record["topic"], partition, offset, timestamp, record["sha256"])
        return entry if max(partition, offset, timestamp) <= _MAX_NUMBER else None
    if (gap := _GAP.fullmatch(text)) is not None:
        partition, first, last, timestamp = _numbers(gap, "partition", "first", "last", "timestamp")
        in_range = first <= last and max(partition, last, timestamp) <= _MAX_NUMBER
        return GapEntry(gap["topic"], partition, first, last, timestamp) if in_range else None
    return None


def _numbers(match: re.Match[str], *names: str) -> list[int]:
    return [int(match[name]) for name in names]


def record_digest(
    key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, bytes | None]]
) -> str:
    """Return the SHA-256 (hex) of a record as it lies on its topic.

    Each of key, value, and name and value of each header is preceded by its length in 8 bytes, big
    endian; 8 bytes FF stand for null.
    """
    digest = hashlib.sha256()
    for part in (key, value, *(part for name, text in headers for part in (name.encode(), text))):
        digest.update(_NULL if part is None else len(part).to_bytes(_LENGTH_BYTES, "big"))
        digest.update(part or b"")
    return digest.hexdigest()
