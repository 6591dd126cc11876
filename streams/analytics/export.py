"""An export of topics into a folder of Parquet files, which the next export goes on with.

The offset alone decides the file: one of `records/` holds the offsets [base, base + N) of a
partition.  A full one is never touched again, and the last one is replaced as it fills.  The
footers are the only state, so each offset is in one file, once, whenever an export was killed.
Tables are snapshots, since a tombstone may be compacted away between two exports.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from streams.analytics.as_of import canonical, counted, read_point
from streams.analytics.columns import RECORD_COLUMNS, ROW_COLUMNS, Columns
from streams.analytics.errors import ExportFormat, LogTruncated, TopicInternal, TopicUnknown
from streams.analytics.folder import Folder, check_owner, locked
from streams.analytics.parquet_files import FORMAT, Footer, read_footer, replaced
from streams.analytics.rows import record_batches, table_batches
from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition
from streams.engine.scratch import scratch_parent
from streams.log.reading import partitions, records
from streams.replay.as_of.point import AsOf
from topology import topics
from topology.core import LINEAGE_EDGES
from topology.declarations import Topic, TopicKind

OFFSETS_PER_FILE = 131_072
_DEFAULT = frozenset({TopicKind.COMMAND, TopicKind.FACT, TopicKind.AUDIT, TopicKind.TABLE})


class TopicExport(NamedTuple):
    """The outcome for one topic.

    new: the records that this export has added; for a table, the rows that it has written.
    rows: the rows in all files of the topic.  is_left_out: a table knows no past.
    """

    name: str
    is_table: bool
    partitions: int
    new: int
    rows: int
    is_left_out: bool = False

    def __str__(self) -> str:
        if self.is_left_out:
            return "table  left out: it knows no past"
        if not self.is_table:
            return f"{self.partitions} partitions  {self.new:>12,} new  {self.rows:>14,} in all"
        return f"table  {self.rows:>24,} rows, {'written anew' if self.new else 'as before'}"


class Options(NamedTuple):
    """The options of an export.

    names: topics without the prefix; empty: all of commands, facts, audit records and tables, and
    the edges.  as_of: a point; only what counts at it is exported, and no tables.
    on_gap, on_undecodable: called with a line about it.
    """

    names: Sequence[str] = ()
    offsets_per_file: int = OFFSETS_PER_FILE
    accept_gap: bool = False
    as_of: str | None = None
    on_gap: Callable[[str], None] = lambda line: None
    on_undecodable: Callable[[str], None] = lambda line: None


def selected(names: Sequence[str]) -> list[Topic]:
    """Return the topics of these names, or those that are exported by default.

    Raises TopicUnknown, TopicInternal.
    """
    for name in names:
        topic = topics.BY_NAME.get(name)
        if topic is None:
            raise TopicUnknown(f"there is no topic {name}")
        if not (_is_default(topic) or topic.kind is TopicKind.INBOX):
            raise TopicInternal(f"{name} is not exported: its kind is {topic.kind.value}")
    return [topic for topic in topics.ALL if (topic.name in names if names else _is_default(topic))]


def _is_default(topic: Topic) -> bool:
    return topic.kind in _DEFAULT or topic is LINEAGE_EDGES


def export(log: Log, prefix: str, path: Path, options: Options) -> Iterator[TopicExport]:
    """Export up to the ends that the partitions have now; yield each topic when it is done.

    Raises TopicUnknown, TopicInternal, QueryValue, AsOfAhead, TopicsMismatch, ExportRunning,
    ExportForeign, ExportFormat, LogTruncated, BrokerUnavailable.
    """
    chosen = selected(options.names)
    as_of = None if options.as_of is None else read_point(options.as_of, log, prefix)
    tables = [topic for topic in chosen if as_of and topic.kind is TopicKind.TABLE]
    for topic in tables:
        yield TopicExport(topic.name, True, 0, 0, 0, is_left_out=True)
    chosen = [topic for topic in chosen if topic not in tables]
    with locked(path) as folder:
        yield from _Export(log, prefix, folder, chosen, options, as_of).run()


class _Export:
    def __init__(
        self,
        log: Log,
        prefix: str,
        folder: Folder,
        chosen: Sequence[Topic],
        options: Options,
        as_of: AsOf | None,
    ) -> None:
        self._as_of = as_of
        self._log, self._prefix, self._folder, self._options = log, prefix, folder, options
        self._topics = chosen
        tps = partitions(log, [prefix + topic.name for topic in chosen])
        self._starts, self._cut = log.starts(tps), log.ends(tps)
        self._started_at = _now()
        self._manifest = self._opened()

    def _opened(self) -> dict[str, Any]:
        """Return the manifest, which is written first if it lacks a topic."""
        ids = self._log.topic_ids([self._prefix + topic.name for topic in self._topics])
        owner = {"cluster_id": self._log.cluster_id(), "prefix": self._prefix}
        known = {name.removeprefix(self._prefix): id for name, id in ids.items()}
        manifest = self._folder.manifest()
        point = None if self._as_of is None else canonical(self._as_of)
        if manifest is None:
            manifest = {
                "format": FORMAT,
                **owner,
                "offsets_per_file": self._options.offsets_per_file,
                "as_of": point,
                "headrace": version("headrace"),
                "started_at": self._started_at,
                "finished_at": None,
                "topics": {},
            }
        check_owner(manifest, {**owner, "topics": known})
        if manifest["offsets_per_file"] != self._options.offsets_per_file:
            message = f"the files of the folder hold {manifest['offsets_per_file']} offsets each"
            raise ExportFormat(message, advice="Give that number to --offsets-per-file.")
        if manifest["as_of"] != point or (point is not None and manifest["finished_at"]):
            message = f"the folder is an export as of {manifest['as_of'] or 'no point'}"
            raise ExportFormat(message)
        missing = [topic for topic in self._topics if topic.name not in manifest["topics"]]
        for topic in missing:
            manifest["topics"][topic.name] = {
                "topic_id": known[topic.name],
                "kind": topic.kind.value,
                "record": topic.record,
                "cut": [],
                "rows": 0,
            }
        if missing:
            self._folder.write_manifest(manifest)
        return manifest

    def run(self) -> Iterator[TopicExport]:
        for topic in self._topics:
            export_topic = self._table if topic.kind is TopicKind.TABLE else self._records
            done = export_topic(topic)
            self._manifest["topics"][topic.name] |= {
                "cut": [self._cut[tp] for tp in self._tps(topic)],
                "rows": done.rows,
            }
            yield done
        times = {"started_at": self._started_at, "finished_at": _now()}
        self._manifest |= {"headrace": version("headrace"), **times}
        self._folder.write_manifest(self._manifest)

    def _tps(self, topic: Topic) -> list[TopicPartition]:
        return sorted(tp for tp in self._cut if tp.topic == self._prefix + topic.name)

    def _records(self, topic: Topic) -> TopicExport:
        """Bring the segments of a topic up to the cut."""
        assert topic.record is not None
        columns = Columns(RECORD_COLUMNS, topic.record)
        tps, counts = self._tps(topic), Counter[str]()
        for tp in tps:
            partition = _Segments(self._folder, topic, tp.partition, columns, self._options)
            counts["before"] += partition.adapt()
            begin = self._begin(tp, partition.next_offset)
            stream = records(self._log, [tp], {tp: self._cut[tp]}, {tp: begin})
            if self._as_of is not None:
                stream = counted(stream, topic, self._as_of)
            counts["new"] += partition.extend(stream, begin, self._cut[tp])
        rows = counts["before"] + counts["new"]
        return TopicExport(topic.name, False, len(tps), counts["new"], rows)

    def _begin(self, tp: TopicPartition, next_offset: int | None) -> int:
        """Return the offset to go on from.  Raises LogTruncated, ExportForeign."""
        start = self._starts[tp]
        if next_offset is None:
            return start
        if next_offset < start:
            place = f"{tp.topic}/{tp.partition}"
            gap = f"the offsets {next_offset} to {start - 1} of {place} are no longer on the log"
            if not self._options.accept_gap:
                raise LogTruncated(gap)
            self._options.on_gap(f"{gap}, and not in the export")
        return max(start, next_offset)

    def _table(self, topic: Topic) -> TopicExport:
        """Write the partitions of a table anew whose ends have moved."""
        assert topic.record is not None
        columns = Columns(ROW_COLUMNS, topic.record)
        tps, counts = self._tps(topic), Counter[str]()
        for tp in tps:
            path = self._folder.table(topic.name, tp.partition)
            footer = Footer(
                topic.name, tp.partition, 0, self._cut[tp], topic.record, columns.avro_schema
            )
            is_current = path.exists() and read_footer(path)[0] == footer
            if not is_current:
                self._write_table(topic, tp, path, columns, footer)
            rows = read_footer(path)[1]
            counts["new"] += 0 if is_current else rows
            counts["rows"] += rows
        return TopicExport(topic.name, True, len(tps), counts["new"], counts["rows"])

    def _write_table(
        self, topic: Topic, tp: TopicPartition, path: Path, columns: Columns, footer: Footer
    ) -> None:
        stream = records(self._log, [tp], {tp: self._cut[tp]}, {tp: self._starts[tp]})
        with (
            tempfile.TemporaryDirectory(prefix="headrace-export-", dir=scratch_parent()) as scratch,
            replaced(path, columns) as writer,
        ):
            undecodable = self._options.on_undecodable
            for batch in table_batches(topic, stream, columns, Path(scratch), undecodable):
                writer.add(batch)
            writer.finish(footer)


class _Segments:
    """The files of one partition's records."""

    def __init__(
        self, folder: Folder, topic: Topic, partition: int, columns: Columns, options: Options
    ) -> None:
        self._folder, self._topic, self._partition = folder, topic, partition
        self._columns, self._size = columns, options.offsets_per_file
        self._on_undecodable = options.on_undecodable
        self.next_offset: int | None = None

    def adapt(self) -> int:
        """Rewrite files of an earlier schema, and return how many rows all files have."""
        rows = 0
        for path in self._folder.segments(self._topic.name, self._partition):
            footer, count = read_footer(path)
            rows += count
            if (footer.topic, footer.partition) != (self._topic.name, self._partition):
                raise ExportFormat(f"{path} is a file of {footer.topic}/{footer.partition}")
            if footer.avro_schema != self._columns.avro_schema:
                with replaced(path, self._columns) as writer:
                    writer.copy(path)
                    writer.finish(self._footer(footer.base_offset, footer.next_offset))
            self.next_offset = footer.next_offset
        return rows

    def extend(self, stream: Iterator[Record], begin: int, cut: int) -> int:
        """Write the records from `begin` on, below the cut; return how many rows were added."""
        if self.next_offset is not None and self.next_offset >= cut:
            return 0
        rows, next_offset = 0, -1
        for base, segment in groupby(stream, lambda record: self._base(record.offset)):
            next_offset = min(base + self._size, cut)
            rows += self._write(base, segment, next_offset)
        if next_offset < cut:  # no records are left up to there, but the next export begins there
            self._write(self._base(max(begin, cut - 1)), (), cut)
        return rows

    def _write(self, base: int, segment: Iterable[Record], next_offset: int) -> int:
        """Write a file of its former rows and these records; return how many rows were added."""
        path = self._folder.segment(self._topic.name, self._partition, base)
        rows = 0
        with replaced(path, self._columns) as writer:
            if path.exists():
                writer.copy(path)
            for batch in record_batches(self._topic, segment, self._columns, self._on_undecodable):
                writer.add(batch)
                rows += batch.num_rows
            writer.finish(self._footer(base, next_offset))
        return rows

    def _base(self, offset: int) -> int:
        return offset - offset % self._size

    def _footer(self, base: int, next_offset: int) -> Footer:
        record = self._columns.record
        return Footer(
            self._topic.name, self._partition, base, next_offset, record, self._columns.avro_schema
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
