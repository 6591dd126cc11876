"""All that a run of SAP has left on the log, read once, in the form in which it is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from schemas import decode_many, sap, to_json
from streams.engine.records import Record, position
from tests.e2e.outputs import Json
from topology.core import LINEAGE_EDGES, RTES_RAW
from topology.declarations import Topic
from topology.sap import (
    SAP_ACKS,
    SAP_CACHE,
    SAP_HEURISTICS,
    SAP_INBOX,
    SAP_KNOWLEDGE,
    SAP_LEARNING,
    SAP_LEARNING_SIGNALS,
    SAP_LOOKUPS,
    SAP_OUTCOMES,
    SAP_RESULTS,
    SAP_RESULTS_DLQ,
    SAP_SIGNALS,
    SAP_SIGNALS_DLQ,
    SAP_TASK_STATES,
    SAP_TASKS,
    SAP_TASKS_DLQ,
    SAP_VERDICTS,
)

COMMANDS: Mapping[Topic, tuple[str, Topic]] = {
    SAP_TASKS: ("task", SAP_TASKS_DLQ),
    SAP_RESULTS: ("result", SAP_RESULTS_DLQ),
    SAP_SIGNALS: ("signal", SAP_SIGNALS_DLQ),
}
"""What anyone may send, its kind, and where it goes if it cannot be judged."""
SERVICE = (
    LINEAGE_EDGES,
    RTES_RAW,
    SAP_ACKS,
    SAP_CACHE,
    SAP_HEURISTICS,
    SAP_INBOX,
    SAP_KNOWLEDGE,
    SAP_LEARNING,
    SAP_LEARNING_SIGNALS,
    SAP_LOOKUPS,
    SAP_OUTCOMES,
    SAP_TASK_STATES,
    SAP_VERDICTS,
)


class Source(Protocol):
    """Where records are read from."""

    def records(self, topic: Topic) -> list[Record]:
        """All that is committed by now, by partition in order."""


@dataclass
class Entry:
    """A record.  avro, json: None if it cannot be decoded."""

    place: str
    partition: int
    offset: int
    key: bytes | None
    raw: bytes | None
    headers: dict[str, bytes]
    avro: Json | None
    json: Json | None

    @property
    def value(self) -> Json:
        assert self.json is not None, self.place
        return self.json

    @property
    def cause(self) -> str:
        return self.headers["headrace-cause"].decode()


@dataclass
class SapHistory:
    """By topic name, in log order by partition."""

    entries: dict[str, list[Entry]]

    def of(self, topic: Topic) -> list[Entry]:
        return self.entries[topic.name]

    def values(self, topic: Topic) -> list[Json]:
        return [entry.value for entry in self.of(topic)]

    def at(self, topic: Topic) -> dict[str, Entry]:
        """By position."""
        return {entry.place: entry for entry in self.of(topic)}

    def rows(self, topic: Topic) -> dict[str, Json]:
        """The latest of each key."""
        return {(entry.key or b"").decode(): entry.value for entry in self.of(topic)}


def read(source: Source) -> SapHistory:
    """Everything that is committed by now."""
    by_topic: dict[str, list[Entry]] = {}
    for topic, (kind, dead) in COMMANDS.items():
        by_topic[topic.name] = entries(topic, source.records(topic), kind)
        by_topic[dead.name] = [_entry(record, None, None) for record in source.records(dead)]
    for topic in SERVICE:
        by_topic[topic.name] = entries(topic, source.records(topic))
    return SapHistory(by_topic)


def entries(topic: Topic, records: list[Record], kind: str | None = None) -> list[Entry]:
    """kind: of commands, whose JSON anyone may have written."""
    assert topic.record is not None
    log_entries: list[Entry] = []
    values = decode_many([record.value for record in records], topic.record)
    for record, decoded in zip(records, values, strict=True):
        if isinstance(decoded, Exception):
            log_entries.append(_entry(record, None, None))
        elif kind is None:
            log_entries.append(_entry(record, decoded.value, to_json(topic.record, decoded.value)))
        else:
            log_entries.append(_entry(record, decoded.value, sap.judge(kind, decoded.value).json))
    return log_entries


def _entry(record: Record, avro: Json | None, as_json: Json | None) -> Entry:
    return Entry(
        position(record),
        record.partition,
        record.offset,
        record.key,
        record.value,
        dict(record.headers or ()),
        avro,
        as_json,
    )


def is_at_admission(verdict: Json) -> bool:
    """Return whether a verdict is a hit that a worker found in its copy of the cache."""
    return verdict["verdict"] == "hit" and verdict["recordSha256"] is not None


def admissions(history: SapHistory) -> dict[str, Entry]:
    """Return the hits at admission, by the position of the task's record."""
    return {
        entry.cause: entry for entry in history.of(SAP_VERDICTS) if is_at_admission(entry.value)
    }
