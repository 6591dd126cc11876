"""The transparency log as rows of a view: its tiles, and the newest checkpoint of them.

| key                                                  | value                                   |
|------------------------------------------------------|-----------------------------------------|
| tlog, tile, level, index                             | up to 256 hashes                        |
| tlog, bundle, index                                  | up to 256 entries                       |
| tlog, run, topic, partition, offset                  | index of the entry of that record       |
| tlog, size                                           | the number of entries, in decimal       |
| tlog, head                                           | AuditTreeHead, the newest good one      |
| tlog, waiting, size, offset                          | AuditTreeHead, of entries yet to come   |
| tlog, refused                                        | how many records did not count          |
| tlog, conflict                                       | AuditTreeHead, signed, with a root that |
|                                                      | the log does not have                   |

A run is of entries of one partition, one after the other, within one bundle.  `unlogged` has the
rows of records without an entry.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from schemas import Undecodable, decode
from streams.engine.records import Record, TopicPartition
from streams.ops.tlog.batches import EntrySequence
from streams.ops.tlog.entries import RecordEntry, parse_entry
from streams.ops.tlog.heads import SignedHead, parse_head
from streams.ops.tlog.log_keys import choose_origin
from streams.ops.tlog.merkle import HASH_BYTES, tree_root
from streams.ops.tlog.policy import Cosignature, Policy, load_policy
from streams.ops.tlog.receipt import judge_note
from streams.ops.tlog.tile_builder import TileBuilder
from streams.ops.tlog.tiles import (
    MAX_INDEX,
    WIDTH,
    Tile,
    TileNodes,
    decode_bundle,
    encode_bundle,
    width_of,
)
from streams.settings.service import ServiceSettings
from streams.view_store.unlogged import end_due, oldest_due
from streams.views.changes import WriteBatch
from streams.views.keys import key, number_at_end
from streams.views.projection import Apply
from streams.views.reads import RowReader
from topology.core import AUDIT_ENTRIES, AUDIT_TREE_HEADS
from topology.declarations import Topic

_LOG = "tlog"
_SIZE, _HEAD = key(_LOG, "size"), key(_LOG, "head")
_WAITING = key(_LOG, "waiting")
_REFUSED, _CONFLICT = key(_LOG, "refused"), key(_LOG, "conflict")
_ROWS_FORM = "3"
"""Changed with the form of the rows; those of another form are rebuilt."""
_HEAD_RECORD = AUDIT_TREE_HEADS.record or ""
_NUMBER_BYTES = 8
_log = logging.getLogger("streams.views.transparency")


class LogStatus(NamedTuple):
    """The progress of a log.

    head: the newest checkpoint that the policy accepts.  published_ms, cosignatures: its time, and
    the witnesses of it.  sequenced: the number of entries, published or not.
    unpublished_ms: the time of the first record without a published entry, None without one.
    conflict: whether a signed checkpoint has a root that the log does not have.
    refused: how many records of its topics did not count.
    """

    head: SignedHead | None
    published_ms: int | None
    cosignatures: tuple[Cosignature, ...]
    sequenced: int
    unpublished_ms: int | None
    conflict: bool
    refused: int

    @property
    def size(self) -> int:
        """Return the number of published entries."""
        return 0 if self.head is None else self.head.checkpoint.size


class TransparencyLog(NamedTuple):
    """The log that a view follows: that of one origin, as far as the policy bears it out."""

    policy: Policy
    origin: str

    @property
    def identity(self) -> list[str]:
        """Return what must not change for rows that are continued: the origin and its keys."""
        return [_ROWS_FORM, self.origin, *sorted(map(str, self.policy.keys_of(self.origin)))]

    @property
    def projections(self) -> Mapping[str, Apply]:
        """Return the functions that turn the records of its topics into rows."""
        return {AUDIT_ENTRIES.name: self._apply_entries, AUDIT_TREE_HEADS.name: self._apply_heads}

    def _apply_entries(self, topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
        tiles, size = RowTiles(rows), _size_of(rows)
        sequence = EntrySequence(self.origin, self.policy.keys_of(self.origin))
        sequence.resume(tiles.resume(size), {})
        for record in records:
            first = sequence.size
            lines = sequence.read(record)
            tiles.append(lines)
            _index_runs(first, lines, rows)
        _add_refused(sequence.refused, rows)
        if sequence.size > size:
            tiles.flush()
            rows[_SIZE] = b"%d" % sequence.size
            end_due(rows, sequence.due)
            self._compare_heads(rows)

    def _apply_heads(self, topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
        refused = 0
        for record in records:
            head = self._parse(record.value)
            if head is None:
                refused += 1
            else:
                rows[_WAITING + key(head.checkpoint.size, record.offset)] = record.value
        _add_refused(refused, rows)
        self._compare_heads(rows)

    def _compare_heads(self, rows: WriteBatch) -> None:
        """Compare the heads that wait with the tree, as far as it has grown."""
        size = _size_of(rows)
        nodes = TileNodes(size, RowTiles(rows).read_tile)
        for row_key, value in sorted(rows.under(_WAITING)):
            if number_at_end(row_key[:-_NUMBER_BYTES]) > size:
                return
            rows[row_key] = None
            head = self._parse(value)
            assert head is not None, "only signed heads wait"
            if tree_root(head.checkpoint.size, nodes.node) != head.checkpoint.root:
                rows[_CONFLICT] = value
                _log.error(
                    "a signed checkpoint is none of the log:\n%s", head.note.encode().decode()
                )
            elif self.accepts(head) and head.checkpoint.size > self._head_size(rows):
                rows[_HEAD] = value

    def _head_size(self, rows: WriteBatch) -> int:
        """Return the size of the head that is there, 0 if the policy of now does not accept it."""
        head = self._parse(rows.read(_HEAD))
        return 0 if head is None or not self.accepts(head) else head.checkpoint.size

    def accepts(self, head: SignedHead) -> bool:
        """Return whether the policy accepts a checkpoint."""
        return judge_note(head.note, head.checkpoint, self.policy).fault is None

    def read_head(self, rows: RowReader) -> SignedHead | None:
        """Return the newest checkpoint that the policy accepts, None before the first."""
        (value,) = rows.get_many([_HEAD])
        head = self._parse(value)
        return head if head is not None and self.accepts(head) else None

    def read_status(self, rows: RowReader) -> LogStatus:
        """Return how far the log has come."""
        value, size, refused, conflict = rows.get_many([_HEAD, _SIZE, _REFUSED, _CONFLICT])
        head, sequenced = self.read_head(rows), int(size or b"0")
        status = LogStatus(
            head, None, (), sequenced, None, conflict is not None, int(refused or b"0")
        )
        if head is not None:
            members: Mapping[str, Any] = decode(value, _HEAD_RECORD).value
            cosignatures = self.policy.cosignatures(head.note, head.checkpoint)
            status = status._replace(published_ms=members["at"], cosignatures=cosignatures)
        entry_ms = _time_of(rows, status.size) if status.size < sequenced else None
        times = [time_ms for time_ms in (entry_ms, oldest_due(rows)) if time_ms is not None]
        return status._replace(unpublished_ms=min(times, default=None))

    def _parse(self, value: bytes | None) -> SignedHead | None:
        try:
            members: Mapping[str, Any] = decode(value, _HEAD_RECORD).value
        except Undecodable:
            return None
        return parse_head(members["note"].encode(), self.policy, self.origin)


def followed_log(settings: ServiceSettings) -> TransparencyLog | None:
    """Return the log of the policy in the settings, None if there is no policy.

    Raises PolicyInvalid, SettingsError.
    """
    if settings.tlog_policy is None:
        return None
    policy = load_policy(settings.tlog_policy)
    return TransparencyLog(policy, choose_origin(policy, settings.tlog_origin))


class RowTiles(TileBuilder):
    """The tiles of the log in the rows of a view, one row for all widths."""

    def __init__(self, rows: WriteBatch) -> None:
        super().__init__()
        self._rows = rows

    def read_tile(self, tile: Tile) -> bytes:
        return _narrow(tile, self._rows.read(_key_of(tile)))

    def write_tile(self, tile: Tile, data: bytes) -> None:
        self._rows[_key_of(tile)] = data


def read_published_tile(rows: RowReader, tile: Tile, size: int) -> bytes | None:
    """Return a tile or bundle of the tree of that size; None if it has none of that width."""
    if tile.width > width_of(tile.level, tile.index, size):
        return None
    (row,) = rows.get_many([_key_of(tile)])
    return _narrow(tile, row)


def _index_runs(first: int, lines: Iterable[bytes], rows: WriteBatch) -> None:
    """Index the first entry of each run of a batch.  first: the index of its first entry."""
    previous: TopicPartition | None = None
    for index, line in enumerate(lines, first):
        entry = parse_entry(line)
        tp = None
        if isinstance(entry, RecordEntry):
            tp = TopicPartition(entry.topic, entry.partition)
            if tp != previous or index % WIDTH == 0:
                rows[_run_key(tp) + key(entry.offset)] = b"%d" % index
        previous = tp


def find_entry(rows: RowReader, tp: TopicPartition, offset: int) -> tuple[int, bytes] | None:
    """Return the index and the entry of a record, None if the log has none of it."""
    for index, entry in _entries_of_run(rows, tp, offset):
        if entry.offset == offset:
            return index, entry.encode()
    return None


def end_of_entries(rows: RowReader, tp: TopicPartition) -> int:
    """Return the offset after the last record of a partition that has an entry."""
    return max((entry.end for _, entry in _entries_of_run(rows, tp, MAX_INDEX)), default=0)


def end_of_published(rows: RowReader, tp: TopicPartition, size: int) -> int:
    """Return the offset after the last record of a partition that has an entry below an index."""
    for _, first in rows.scan(_run_key(tp), reverse=True):
        if int(first) < size:
            entries = _read_run(rows, tp, int(first))
            return max(entry.end for index, entry in entries if index < size)
    return 0


def _entries_of_run(
    rows: RowReader, tp: TopicPartition, offset: int
) -> Iterator[tuple[int, RecordEntry]]:
    """Yield the entries of the last run that begins at or below an offset, with their indexes."""
    prefix = _run_key(tp)
    run = next(rows.scan(prefix, prefix + key(offset), reverse=True), None)
    if run is not None:
        yield from _read_run(rows, tp, int(run[1]))


def _read_run(rows: RowReader, tp: TopicPartition, first: int) -> Iterator[tuple[int, RecordEntry]]:
    """Yield the entries of the run that begins at an index, with their indexes."""
    bundle, place = divmod(first, WIDTH)
    (row,) = rows.get_many([_key_of(Tile(None, bundle))])
    for index, line in enumerate(decode_bundle(row or b"")[place:], first):
        entry = parse_entry(line)
        if not isinstance(entry, RecordEntry) or entry[:2] != tp:
            return
        yield index, entry


def _time_of(rows: RowReader, index: int) -> int | None:
    """Return the time of an entry in ms, None if it is of an unknown kind."""
    bundle, place = divmod(index, WIDTH)
    (row,) = rows.get_many([_key_of(Tile(None, bundle))])
    entry = parse_entry(decode_bundle(row or b"")[place])
    return None if entry is None else entry.timestamp


def _add_refused(count: int, rows: WriteBatch) -> None:
    if count:
        rows[_REFUSED] = b"%d" % (int(rows.read(_REFUSED) or b"0") + count)


def _run_key(tp: TopicPartition) -> bytes:
    return key(_LOG, "run", *tp)


def _key_of(tile: Tile) -> bytes:
    if tile.level is None:
        return key(_LOG, "bundle", tile.index)
    return key(_LOG, "tile", tile.level, tile.index)


def _narrow(tile: Tile, row: bytes | None) -> bytes:
    """Return the beginning of a row that a tile of this width has."""
    if row is None:
        raise ValueError(f"{tile.path} is not there")
    if tile.level is not None:
        return row[: tile.width * HASH_BYTES]
    return row if tile.width == WIDTH else encode_bundle(decode_bundle(row)[: tile.width])


def _size_of(rows: WriteBatch) -> int:
    return int(rows.read(_SIZE) or b"0")
