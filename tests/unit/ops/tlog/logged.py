"""A log in memory whose facts get entries in a transparency log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from schemas import encode
from streams.engine.memory import MemoryLog
from streams.engine.records import Output, TopicPartition
from streams.log.reading import partitions, records
from streams.ops.tlog.batches import EntrySequence
from streams.ops.tlog.entries import RecordEntry, parse_entry
from streams.ops.tlog.keys import sign_checkpoint
from streams.ops.tlog.log_keys import LogKeys
from streams.ops.tlog.logged_topics import LOGGED
from streams.ops.tlog.merkle import Tree, leaf_hash
from streams.ops.tlog.note import Checkpoint, Note, NoteSignature, parse_note
from streams.ops.tlog.policy import parse_policy
from streams.ops.tlog.tile_directory import CHECKPOINT, SIGNED, TileDirectory
from streams.ops.tlog.writer import LogWriter
from streams.ops.topics import create_topics
from streams.settings import Settings
from tests.unit.ops.tlog.example_log import KEY, ORIGIN, POLICY, PRIVATE
from topology.core import AUDIT_CHECKPOINTS, AUDIT_ENTRIES, AUDIT_TREE_HEADS

START_MS = 1_732_435_200_000
EVENTS = TopicPartition("apc.events", 0)
PARTITIONS = [EVENTS, TopicPartition("apc.events", 1), TopicPartition(AUDIT_CHECKPOINTS.name, 0)]
ENTRIES = TopicPartition(AUDIT_ENTRIES.name, 0)
HEADS = TopicPartition(AUDIT_TREE_HEADS.name, 0)
KEYS = LogKeys(ORIGIN, PRIVATE, (PRIVATE,), parse_policy(POLICY.encode()))


class RecordingDirectory(TileDirectory):
    """A folder that remembers every checkpoint that was kept before it left the process."""

    def __init__(self, folder: Path, notes: list[bytes]) -> None:
        super().__init__(folder)
        self._notes = notes

    def write(self, name: str, data: bytes) -> None:
        super().write(name, data)
        if name == SIGNED:
            self._notes.append(data)


class Logged:
    """Facts of two partitions, and the writers of their log."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "tlog"
        self.now = START_MS
        self.log = MemoryLog(self.tick)
        self.settings = Settings(partitions=2, tlog_policy=folder / "policy")
        create_topics(self.log, self.settings)
        self.notes: list[bytes] = []

    def tick(self) -> int:
        """Return the time, one ms later each time."""
        self.now += 1
        return self.now

    def write_facts(self, count: int, tp: TopicPartition = EVENTS) -> None:
        producer = self.log.producer("facts")
        producer.open()
        outputs = [Output(tp.topic, b"k", b"v%d" % n, (), tp.partition) for n in range(count)]
        if outputs:
            producer.commit(outputs)

    def writer(
        self, folder: Path | None = None, gaps: tuple[TopicPartition, ...] = ()
    ) -> LogWriter:
        directory = RecordingDirectory(folder or self.folder, self.notes)
        return LogWriter(self.log, "", KEYS, directory, self.tick, gaps)

    def add_batch(self, batch: dict[str, Any]) -> None:
        value = encode(AUDIT_ENTRIES.record or "", batch)
        self.log.append([Output(AUDIT_ENTRIES.name, ORIGIN.encode(), value)])

    def add_head(self, checkpoint: Checkpoint, *cosignatures: NoteSignature) -> None:
        """Publish a checkpoint, signed by the log, whether it is one of the log or not."""
        signatures = (sign_checkpoint(PRIVATE, checkpoint, 0), *cosignatures)
        note = Note(checkpoint.text, signatures).encode().decode()
        head = {**checkpoint._asdict(), "note": note, "quorum": True, "at": self.now}
        value = encode(AUDIT_TREE_HEADS.record or "", head)
        self.log.append([Output(HEADS.topic, ORIGIN.encode(), value)])

    def lines(self) -> list[bytes]:
        """Return all entries of the log."""
        state = EntrySequence(ORIGIN, [KEY])
        return [line for record in records(self.log, [ENTRIES]) for line in state.read(record)]

    def heads(self) -> int:
        """Return the number of published tree heads."""
        return sum(1 for _ in records(self.log, [HEADS]))

    def checkpoint(self) -> Checkpoint:
        return Checkpoint.parse(parse_note((self.folder / CHECKPOINT).read_bytes()).text)

    def check(self) -> None:
        """Check that each record has one entry, and that no checkpoint contradicts the log."""
        lines = self.lines()
        entries = [entry for entry in map(parse_entry, lines) if isinstance(entry, RecordEntry)]
        tps = partitions(self.log, [topic.name for topic in LOGGED])
        positions = [(r.topic, r.partition, r.offset) for r in records(self.log, tps)]
        assert sorted(entry[:3] for entry in entries) == sorted(positions)
        tree = Tree(map(leaf_hash, lines))
        for note in self.notes:
            checkpoint = Checkpoint.parse(parse_note(note).text)
            assert checkpoint.root == tree.root(checkpoint.size)
        if lines:
            assert self.checkpoint() == Checkpoint(ORIGIN, tree.size, tree.root())
