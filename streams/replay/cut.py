"""Where a verification stands on each topic, so that a live log can be verified.

Rows and facts of one decision are written in one transaction, but no question asks for the ends of
several partitions at one moment.  So the rows are held against a span of the facts: the ends of
facts are asked for before the rows are read (what lies below is in the rows) and again after it
(what is in the rows lies below).  A row must be what the facts come to somewhere in that span; on
a log at rest both ends are one.  Which commands are decided, the tasks' own positions say, which
lie in the changelog and are read before the rows.  So they say too which facts of another task
are in the rows for certain, where a protocol reads what another task of its own says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from schemas import decode
from streams.engine.log import Log
from streams.engine.records import TopicPartition
from streams.engine.rows import store_key
from streams.log.reading import partitions, records
from streams.replay.scratch import Scratch
from streams.telemetry.progress import Bar
from topology import tables, topics
from topology.core import CHANGELOG, INPUT_POSITIONS
from topology.declarations import Kind, Table

Ends = Mapping[TopicPartition, int]
PUBLIC = tuple(table for table in tables.ALL if table.topic and table not in tables.GIVEN)
FACTS = tuple(topic for topic in topics.ALL if topic.kind is Kind.FACT)
LETTERS = tuple(topic for topic in topics.ALL if topic.kind is Kind.DEAD_LETTER)


class Cut(NamedTuple):
    """before, after: ends of facts and dead letters before the rows were read and after it.
    starts: where these topics begin.  decided: the next offset of each input of each task.
    """

    before: Ends
    after: Ends
    starts: Ends
    decided: Ends


class Live:
    """The rows of all public tables as they are, and what is held back, in a scratch."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self.count = 0

    def put(self, task: int, key: bytes, row: bytes | None) -> None:
        """key: table, NUL, row key."""
        self._scratch.put(b"live\0%d\0%s" % (task, key), row)

    def get(self, table: Table, task: int, key: str) -> bytes | None:
        return self._scratch.get(b"live\0%d\0%s" % (task, store_key(table.name, key)))

    def rows(self, table: Table, task: int) -> Iterator[tuple[str, bytes]]:
        """By row key, in order."""
        prefix = b"live\0%d\0%s" % (task, store_key(table.name, ""))
        return ((key.decode(), row) for key, row in self._scratch.scan(prefix))


def take(log: Log, prefix: str, live: Live, bar: Bar, internal: Sequence[Table]) -> Cut:
    """Read all rows between two questions for the ends of facts.

    internal: tables that are read beside the public ones.  Raises TopicsMismatch.
    """
    names = [prefix + topic.name for topic in (*FACTS, *LETTERS)]
    tps = partitions(log, names)
    before = log.ends(tps)
    _read(log, prefix, live, bar, internal)
    return Cut(before, log.high_watermarks(tps), log.starts(tps), _decided(prefix, live, log))


def _read(log: Log, prefix: str, live: Live, bar: Bar, internal: Sequence[Table]) -> None:
    """The positions of tasks first: what lies below them is in the rows that are read later."""
    shared = tuple(store_key(table.name, "") for table in (INPUT_POSITIONS, *internal))
    public = {prefix + t.topic.name: store_key(t.name, "") for t in PUBLIC if t.topic}
    for of in ({prefix + CHANGELOG.name: b""}, public):
        tps = partitions(log, of)
        for record in records(log, tps, log.high_watermarks(tps)):
            key = of[record.topic] + (record.key or b"")
            if key.startswith((*shared, *public.values())):
                live.put(record.partition, key, record.value)
            bar.advance()


def _decided(prefix: str, live: Live, log: Log) -> Ends:
    count = log.topics()[prefix + CHANGELOG.name].partitions
    return {
        TopicPartition(prefix + name, task): decode(row, INPUT_POSITIONS.record).value[
            "next_offset"
        ]
        for task in range(count)
        for name, row in live.rows(INPUT_POSITIONS, task)
    }


def held(live: Live, partitions: int, tables: Sequence[Table]) -> Iterator[str]:
    """Positions of the commands that these tables hold."""
    for table in tables:
        for task in range(partitions):
            for _, row in live.rows(table, task):
                yield decode(row, table.record).value["cause"]
