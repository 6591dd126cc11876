"""The offsets that bound one verification, so that a live log can be verified.

The rows and facts of one decision are written in one transaction, but no request returns the ends
of several partitions at one moment.  So the rows are compared with a span of the facts: the ends of
the facts are read before the rows (everything below them is in the rows) and again after the rows
(everything in the rows is below them).  A row must equal what the facts fold to somewhere in that
span; on an idle log both ends are equal.

The committed positions of the tasks tell which commands are decided.  They are in the changelog and
are read before the rows.  So they also tell which facts of another task are certainly in the rows,
where a protocol reads the facts of another of its tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition, is_text, position
from streams.engine.refused_rows import is_written_once
from streams.engine.rows import row_of, store_key
from streams.log.reading import partitions, records
from streams.replay.genuine_records import GenuineRecords
from streams.replay.spill import SpillStore
from streams.telemetry.progress import Bar
from topology import tables, topics
from topology.core import CHANGELOG, INPUT_POSITIONS
from topology.declarations import Table, Topic, TopicKind

Ends = Mapping[TopicPartition, int]
PUBLIC = tuple(table for table in tables.ALL if table.topic and table not in tables.GIVEN)
FACTS = tuple(topic for topic in topics.ALL if topic.kind is TopicKind.FACT)
DEAD_LETTERS = tuple(topic for topic in topics.ALL if topic.kind is TopicKind.DEAD_LETTER)


class ConsistentCut(NamedTuple):
    """The offsets that bound one verification.

    before, after: ends of facts and dead letters before the rows were read and after it.
    starts: start offsets of these topics.  decided: the next offset of each input of each task.
    """

    before: Ends
    after: Ends
    starts: Ends
    decided: Ends


class LiveRows:
    """The current rows of all public tables, and of some internal ones, in a scratch store.

    refused: the row and the position of each later record of a key that is written once.
    """

    def __init__(self, scratch: SpillStore) -> None:
        self._scratch = scratch
        self.count = 0
        self.unreadable: list[str] = []
        """The positions of records whose key is no text; no processor writes such a key."""
        self.refused: list[tuple[str, str]] = []

    def put(self, task: int, key: bytes, row: bytes | None) -> None:
        """Store a row under `key`: table, NUL, row key."""
        self._scratch.put(b"live\0%d\0%s" % (task, key), row)

    def put_record(self, key: bytes, record: Record) -> None:
        """Store the row of a record; of a key that is written once the first record stands."""
        name, _, row_key = key.partition(b"\0")
        table = tables.BY_NAME.get(name.decode())
        if table is not None and is_written_once(table, row_key):
            stored = self._scratch.get(b"live\0%d\0%s" % (record.partition, key))
            if record.value is None or stored not in (None, record.value):
                row_name = f"{table.name} {row_key.decode(errors='replace')}"
                self.refused.append((row_name, position(record)))
                return
        self.put(record.partition, key, record.value)

    def get(self, table: Table, task: int, key: str) -> bytes | None:
        return self._scratch.get(b"live\0%d\0%s" % (task, store_key(table.name, key)))

    def rows(self, table: Table, task: int) -> Iterator[tuple[str, bytes]]:
        """Iterate over the rows of a table and a task in the order of their keys."""
        prefix = b"live\0%d\0%s" % (task, store_key(table.name, ""))
        return ((key.decode(), row) for key, row in self._scratch.scan(prefix))


def read_rows_and_ends(
    log: Log,
    prefix: str,
    live: LiveRows,
    bar: Bar,
    internal: Sequence[Table],
    genuine: GenuineRecords,
) -> ConsistentCut:
    """Read all rows, and the ends of the facts before and after them.

    internal: tables that are read besides the public ones.  genuine: which records count.
    Raises TopicsMismatch.
    """
    names = [prefix + topic.name for topic in (*FACTS, *DEAD_LETTERS)]
    tps = partitions(log, names)
    before = log.ends(tps)
    _read_rows(log, prefix, live, bar, internal, genuine)
    return ConsistentCut(
        before, log.high_watermarks(tps), log.starts(tps), _decided_offsets(prefix, live, log)
    )


def _read_rows(
    log: Log,
    prefix: str,
    live: LiveRows,
    bar: Bar,
    internal: Sequence[Table],
    genuine: GenuineRecords,
) -> None:
    """Read the tasks' positions first: records below them are in the rows that are read later."""
    shared = tuple(store_key(table.name, "") for table in (INPUT_POSITIONS, *internal))
    public = {prefix + t.topic.name: store_key(t.name, "") for t in PUBLIC if t.topic}
    for key_prefixes in ({prefix + CHANGELOG.name: b""}, public):
        tps = partitions(log, key_prefixes)
        for record in genuine.of(records(log, tps, log.high_watermarks(tps))):
            key = key_prefixes[record.topic] + (record.key or b"")
            if key.startswith((*shared, *public.values())):
                if is_text(key):
                    live.put_record(key, record)
                else:
                    live.unreadable.append(position(record))
            bar.advance()


def _decided_offsets(prefix: str, live: LiveRows, log: Log) -> Ends:
    count = log.topics()[prefix + CHANGELOG.name].partitions
    return {
        TopicPartition(prefix + name, task): row_of(INPUT_POSITIONS, name, row)["next_offset"]
        for task in range(count)
        for name, row in live.rows(INPUT_POSITIONS, task)
    }


def is_caught_up(log: Log, prefix: str, cut: ConsistentCut, topic: Topic) -> bool:
    """Return whether all records of an internal topic were decided, and none is a dead letter.

    What the readers of the topic wrote is then in the rows.
    """
    tps = partitions(log, [prefix + topic.name])
    ends, starts = log.high_watermarks(tps), log.starts(tps)
    decided = {tp: max(starts[tp], min(ends[tp], cut.decided.get(tp, 0))) for tp in tps}
    dead_letters = TopicPartition(prefix + topics.dead_letters_of(topic).name, 0)
    return not cut.after[dead_letters] and next(records(log, tps, ends, decided), None) is None


def parked_commands(live: LiveRows, partitions: int, tables: Sequence[Table]) -> Iterator[str]:
    """Yield the positions of the commands that are parked in these tables."""
    for table in tables:
        for task in range(partitions):
            for key, row in live.rows(table, task):
                yield row_of(table, key, row)["cause"]
