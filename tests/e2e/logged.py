"""What a run has left on the log, read once, in the form in which it is checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from schemas import decode_many, to_json
from streams.engine.headers import CAUSE
from streams.engine.records import Record, position
from tests.e2e.outputs import Json
from topology.declarations import Topic


class Entry(NamedTuple):
    """A record.  at: ms.  json: None for a tombstone and for what cannot be decoded, which is
    broken.
    """

    place: str
    partition: int
    key: bytes | None
    at: int
    headers: Mapping[str, bytes]
    json: Json | None
    is_broken: bool

    @property
    def value(self) -> Json:
        assert self.json is not None, self.place
        return self.json

    @property
    def cause(self) -> str:
        return self.headers[CAUSE].decode()

    @property
    def text_key(self) -> str:
        return (self.key or b"").decode()

    @property
    def offset(self) -> int:
        return int(self.place.rsplit("/", 1)[1])


class Logged(NamedTuple):
    """Entries by topic name, in log order by partition."""

    entries: dict[str, list[Entry]]

    def of(self, topic: Topic) -> list[Entry]:
        return self.entries[topic.name]

    def values(self, topic: Topic) -> list[Json]:
        return [entry.value for entry in self.of(topic)]

    def rows(self, topic: Topic) -> dict[str, Json]:
        """Of a table, those that are there in the end."""
        last = {entry.text_key: entry.json for entry in self.of(topic)}
        return {key: row for key, row in last.items() if row is not None}


def latest(records: list[Record]) -> list[Record]:
    """The last of each key."""
    return list({record.key: record for record in records}.values())


def entries(
    topic: Topic, records: list[Record], show: Callable[[str, Any], Json] = to_json
) -> list[Entry]:
    """show: what makes JSON of a value that Avro has decoded."""
    record_name = str(topic.record)
    values = decode_many([record.value for record in records], record_name)
    log_entries: list[Entry] = []
    for record, read in zip(records, values, strict=True):
        undecodable = isinstance(read, Exception) and record.value is not None
        value = None if isinstance(read, Exception) else show(record_name, read.value)
        log_entries.append(_entry(record, value, undecodable))
    return log_entries


def raw(records: list[Record]) -> list[Entry]:
    """Of bytes that are not looked at."""
    return [_entry(record, None, True) for record in records]


def _entry(record: Record, value: Json | None, undecodable: bool) -> Entry:
    headers = dict(record.headers or ())
    place, at = position(record), record.timestamp
    return Entry(place, record.partition, record.key, at, headers, value, undecodable)
