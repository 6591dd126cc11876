"""Verification of an export: its records against the entries, and these against the checkpoint.

It needs the folder and a policy, no broker.  What the folder says of itself counts only as far as
it leads to the root that is signed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from schemas import Problem
from streams.engine.records import Record, TopicPartition
from streams.errors import InvalidInput, UsageError
from streams.ops.audit.segment import read_records
from streams.ops.audit.verify import Violation
from streams.ops.tlog.comparison import PartitionComparison
from streams.ops.tlog.entries import parse_entry
from streams.ops.tlog.export import LOG, RECORDS
from streams.ops.tlog.heads import SignedHead
from streams.ops.tlog.merkle import RightEdge
from streams.ops.tlog.note import MAX_NOTE_BYTES, Checkpoint, NoteMalformed, parse_note
from streams.ops.tlog.policy import Policy
from streams.ops.tlog.receipt import judge_note
from streams.ops.tlog.tile_builder import TileBuilder
from streams.ops.tlog.tile_directory import CHECKPOINT
from streams.ops.tlog.tiles import (
    MAX_BUNDLE_BYTES,
    WIDTH,
    BundleMalformed,
    Tile,
    decode_bundle,
    width_of,
)
from streams.ops.tlog.verify import LogResult


def verify_export(folder: Path, policy: Policy, names: Collection[str]) -> LogResult:
    """Compare an export with itself and with the checkpoint in it.

    names: topics; none for all that were exported.
    Raises InvalidInput for a file that is malformed or missing, UsageError for a topic that was not
    exported.
    """
    head = _read_head(folder / LOG)
    topics, records = read_records(folder / RECORDS)
    unknown = sorted(set(names) - set(names if topics is None else topics))
    if unknown:
        raise UsageError(f"{unknown[0]} is not in the export; in it are {', '.join(topics or ())}")
    comparison = _ExportComparison(set(names) or (None if topics is None else set(topics)))
    findings = [*_judge(head, policy), *_read_log(folder / LOG, head.checkpoint, comparison)]
    for record in records:
        comparison.take_record(record)
    partitions = comparison.close()
    findings += [each for part in partitions for each in part.findings]
    coverage = tuple(part.coverage for part in partitions)
    checkpoint = head.checkpoint
    return LogResult(checkpoint.origin, checkpoint.size, head, 0, tuple(findings), coverage)


class _ExportComparison:
    """The entries of a log, and the records of an export.  topics: those compared; None for all."""

    def __init__(self, topics: Collection[str] | None) -> None:
        self._topics = topics
        self._partitions: dict[TopicPartition, PartitionComparison] = {}

    def take_entries(self, lines: list[bytes]) -> None:
        for entry in map(parse_entry, lines):
            if entry is not None and self._is_compared(entry.topic):
                self._partition_of(entry.topic, entry.partition).take_entry(entry, True, True)

    def take_record(self, record: Record) -> None:
        """Take the next record, after all entries."""
        if self._is_compared(record.topic):
            partition = self._partition_of(record.topic, record.partition)
            if record.offset < partition.due:
                partition.take_record(record)
            else:
                partition.coverage.leave_out(record.timestamp)

    def close(self) -> list[PartitionComparison]:
        """Return all partitions, by name."""
        for partition in self._partitions.values():
            partition.end_portion()
            partition.close()
        return [partition for _, partition in sorted(self._partitions.items())]

    def _is_compared(self, topic: str) -> bool:
        return self._topics is None or topic in self._topics

    def _partition_of(self, topic: str, number: int) -> PartitionComparison:
        tp = TopicPartition(topic, number)
        if tp not in self._partitions:
            self._partitions[tp] = PartitionComparison(tp)
        return self._partitions[tp]


class _ComparedTiles(TileBuilder):
    """The hash tiles of the entries, compared with those in a folder.

    differing: the paths of those that are not there, or have other hashes.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self.differing: list[str] = []

    def read_tile(self, tile: Tile) -> bytes:
        raise ValueError(f"{tile.path} is derived, not read")

    def write_tile(self, tile: Tile, data: bytes) -> None:
        if tile.level is not None and _read_file(self._folder, tile, len(data)) != data:
            self.differing.append(tile.path)


def _read_head(folder: Path) -> SignedHead:
    path = folder / CHECKPOINT
    try:
        note = parse_note(_read(path, MAX_NOTE_BYTES) or b"")
        return SignedHead(Checkpoint.parse(note.text), note)
    except NoteMalformed as exc:
        raise _malformed(path, str(exc)) from exc


def _judge(head: SignedHead, policy: Policy) -> Iterator[Violation]:
    judgement = judge_note(head.note, head.checkpoint, policy)
    if judgement.fault is not None:
        yield _find(CHECKPOINT, judgement.fault, judgement.detail)


def _read_log(
    folder: Path, checkpoint: Checkpoint, comparison: _ExportComparison
) -> Iterator[Violation]:
    """Read all entries into the comparison; yield how they differ from tiles and checkpoint."""
    edge, tiles = RightEdge(), _ComparedTiles(folder)
    for index in range(-(-checkpoint.size // WIDTH)):
        lines = _read_bundle(folder, Tile(None, index, width_of(None, index, checkpoint.size)))
        comparison.take_entries(lines)
        edge.extend(lines)
        tiles.append(lines)
    tiles.flush()
    for path in tiles.differing:
        yield _find(path, "tiles_invalid", "it is missing, or has other hashes than the entries")
    if edge.root() != checkpoint.root:
        what = f"a checkpoint of {checkpoint.size} entries is signed, and they have another root"
        yield _find(CHECKPOINT, "head_conflict", what)


def _read_bundle(folder: Path, tile: Tile) -> list[bytes]:
    data = _read_file(folder, tile, MAX_BUNDLE_BYTES)
    try:
        lines = decode_bundle(data or b"")[: tile.width]
    except BundleMalformed as exc:
        raise _malformed(folder / tile.path, str(exc)) from exc
    if len(lines) < tile.width:
        raise _malformed(folder / tile.path, f"it has {len(lines)} entries, not {tile.width}")
    return lines


def _read_file(folder: Path, tile: Tile, max_bytes: int) -> bytes | None:
    """Return a tile or bundle, of a hash tile its beginning, also where only the full one is."""
    partial = _read(folder / tile.path, max_bytes)
    if partial is not None or tile.width == WIDTH:
        return partial
    return _read(folder / Tile(tile.level, tile.index).path, max_bytes)


def _read(path: Path, max_bytes: int) -> bytes | None:
    """Return the beginning of a file, None if there is none."""
    try:
        with path.open("rb") as file:
            return file.read(max_bytes)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise UsageError(f"{path} cannot be read: {exc.strerror}") from exc


def _find(name: str, code: str, what: str) -> Violation:
    return Violation(f"{LOG}/{name}", 0, 0, code, what)


def _malformed(path: Path, what: str) -> InvalidInput:
    problem = Problem("segment_invalid", "", f"{path}: {what}")
    return InvalidInput([problem], advice="Export it again.")
