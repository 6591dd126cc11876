"""A mixed history, as the checkers of the single protocols read it: only what is theirs."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Protocol

from schemas import Undecodable, decode_many
from streams.engine.headers import CAUSE
from streams.engine.records import Record, header
from tests.chaos.cluster import Tail
from topology.core import LINEAGE_EDGES, RTES_RAW
from topology.declarations import Topic
from topology.saop import RTES_EVENTS
from topology.topics import full_name


class Source(Protocol):
    """Where records are read from."""

    prefix: str

    def records(self, topic: Topic) -> list[Record]:
        """All that is committed by now, by partition in order."""


class Part:
    """origin: of the events to be kept, and of the timers.  draws: the topic of the records that
    draw its edges, where the checker does not know them by their nodes.
    """

    def __init__(self, source: Source, origin: str, draws: Topic | None = None) -> None:
        self._source, self._origin = source, origin
        cause_prefix = "" if draws is None else f"{full_name(draws, source.prefix)}/"
        self._causes = (cause_prefix, f"timer/{origin}")

    def records(self, topic: Topic) -> list[Record]:
        records = self._source.records(topic)
        if topic in (RTES_RAW, RTES_EVENTS):
            return self._told(topic, records)
        if topic is LINEAGE_EDGES:
            return [one for one in records if cause_of(one).startswith(self._causes)]
        return records

    def _told(self, topic: Topic, records: list[Record]) -> list[Record]:
        values = decode_many([record.value for record in records], topic.record or "")
        return [
            record
            for record, read in zip(records, values, strict=True)
            if not isinstance(read, Undecodable) and read.value["origin"] == self._origin
        ]


def cause_of(record: Record) -> str:
    return (header(record, CAUSE) or b"").decode()


class Causes:
    """What the records of some topics were caused by, read as they grow."""

    def __init__(self, tails: Iterable[Tail]) -> None:
        self._seen = dict.fromkeys(tails, 0)
        self._found: set[str] = set()

    def now(self) -> Set[str]:
        """Of all that are committed by now."""
        for tail, seen in self._seen.items():
            self._found.update(map(cause_of, tail.catch_up()[seen:]))
            self._seen[tail] = len(tail.records)
        return self._found
