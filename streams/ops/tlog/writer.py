"""The writer of the transparency log: it follows the facts, and gives each record one entry.

The order of the log is that of `audit.entries`, written in transactions of one transactional id: a
new writer fences the previous one, and continues from what that one has committed.  A checkpoint is
signed only over entries that are committed, so whatever is killed, no two checkpoints contradict
each other.  Tree, tiles and roots are pure functions of that topic.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from types import TracebackType
from typing import NamedTuple, Self

from schemas import encode, sha256_hex
from streams.engine.log import Log, Reader
from streams.engine.records import Output, TopicPartition
from streams.errors import Fenced, InputTruncated
from streams.log.reading import partitions
from streams.ops.audit.keys import Keys
from streams.ops.tlog.batches import EntrySequence, sign_batch, split_entries
from streams.ops.tlog.chains import check_chains
from streams.ops.tlog.entries import Entry, GapEntry, RecordEntry, entry_of, sort_key
from streams.ops.tlog.errors import LogRolledBack
from streams.ops.tlog.heads import SignedHead
from streams.ops.tlog.log_keys import LogKeys
from streams.ops.tlog.logged_topics import LOGGED
from streams.ops.tlog.merkle import EMPTY_ROOT, RightEdge, prove_consistency
from streams.ops.tlog.note import Checkpoint, Note
from streams.ops.tlog.opening import LogOpener, OpenedLog
from streams.ops.tlog.position import LogPosition
from streams.ops.tlog.receipt import judge_note
from streams.ops.tlog.tile_directory import CHECKPOINT, POSITION, SIGNED, TileDirectory
from streams.ops.tlog.tiles import TileNodes
from streams.ops.tlog.witness_client import (
    CosigningRequest,
    WitnessClient,
    WitnessOutcome,
    WitnessResult,
    add_cosignatures,
)
from topology.core import AUDIT_ENTRIES, AUDIT_TREE_HEADS, TRANSPARENCY
from topology.topics import full_name

AT_ONCE = 200_000
"""Number of records after which a round stops reading, even if there are more."""
_POLL_S = 0.2
_ENTRIES = AUDIT_ENTRIES.record or ""
_TREE_HEAD = AUDIT_TREE_HEADS.record or ""


class Round(NamedTuple):
    """The result of one round.

    first: the size before it.  root: of the tree of that size.  note: the checkpoint, if the round
    has published one.  witnesses: what those that were asked have answered.
    """

    first: int
    size: int
    root: bytes
    note: Note | None
    witnesses: tuple[WitnessResult, ...] = ()

    @property
    def lacks_quorum(self) -> bool:
        """Return whether a checkpoint was not published, since too few have cosigned it."""
        return self.note is None and bool(self.witnesses)

    @property
    def records(self) -> int:
        """Return the number of new entries."""
        return self.size - self.first


class Published(NamedTuple):
    """The checkpoint, None if it was not published, and the answers of witnesses."""

    note: Note | None
    witnesses: tuple[WitnessResult, ...]


NOT_PUBLISHED = Published(None, ())
_UNEXPECTED = (WitnessOutcome.AHEAD, WitnessOutcome.CONFLICT)


class LogWriter:
    """The writer of the log of an environment.

    clock: ms since the epoch.
    accepted_gaps: partitions whose first records are gone, and whose log goes on without them.
    witnesses: asked to cosign each checkpoint; None: nobody is.
    chain_keys: of the chains of checkpoints that are compared with the facts before the first
    entry; None: they are not.

    Opening raises BrokerUnavailable, TopicsMismatch, SettingsError, LogRolledBack, InputTruncated,
    ChainsInvalid.
    """

    def __init__(
        self,
        log: Log,
        prefix: str,
        keys: LogKeys,
        directory: TileDirectory,
        clock: Callable[[], int],
        accepted_gaps: Collection[TopicPartition] = (),
        witnesses: WitnessClient | None = None,
        chain_keys: Keys | None = None,
    ) -> None:
        self._log, self._prefix, self._keys, self._clock = log, prefix, keys, clock
        self._directory, self._accepted_gaps = directory, accepted_gaps
        self._witnesses, self._chain_keys = witnesses, chain_keys
        self._producer = log.producer(f"{prefix}headrace-audit")
        self._state = EntrySequence(keys.origin, ())
        self._published = self._heads_offset = 0
        self._last_note: Note | None = None
        self._gaps: list[GapEntry] = []
        self._reader: Reader | None = None
        self._covered: list[TopicPartition] = []

    def __enter__(self) -> Self:
        self._producer.open()  # first: it fences the previous writer, so the log is final
        self._state, newest, self._heads_offset = self._read_log()
        if self._chain_keys is not None and self._state.size == 0:
            check_chains(self._log, self._prefix, self._chain_keys)
        self._keep_position()
        self._published = self._size_of(newest)
        self._last_note = None if newest is None else newest.note
        positions = self._check_partitions()
        self._probe_witnesses()
        self._reader = self._log.reader(positions)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._reader is not None:
            self._reader.close()
        self._producer.close()

    def round(self) -> Round:
        """Give the new records entries, sign the tree, and publish it once the quorum has cosigned.

        Raises Fenced if another writer has begun, LogRolledBack, CommitFailed, BrokerUnavailable.
        """
        first = self._state.size
        self._check_ends()
        entries: list[Entry] = [*self._gaps, *self._read_records()]
        if entries:
            lines = [entry.encode() for entry in sorted(entries, key=sort_key)]
            self._commit_entries(lines)
            self._gaps = []
            self._state.append(lines)
            self._directory.append(lines)
            self._directory.flush()
            self._keep_position()
        published = self._publish() if self._state.size > self._published else NOT_PUBLISHED
        return Round(first, self._state.size, self._state.edge.root(), *published)

    def _read_log(self) -> OpenedLog:
        """Read the log to its end.  Raises LogRolledBack, SettingsError."""
        return LogOpener(self._log, self._prefix, self._keys, self._directory).open()

    def _size_of(self, head: SignedHead | None) -> int:
        """Return the size of a published head, 0 if the policy of now does not accept it."""
        if head is None:
            return 0
        fault = judge_note(head.note, head.checkpoint, self._keys.policy).fault
        return head.checkpoint.size if fault is None else 0

    def _probe_witnesses(self) -> None:
        """Raise LogRolledBack if a witness has cosigned a longer log.

        They are sent the empty tree, with which every log begins.
        """
        if self._witnesses is not None:
            empty = Checkpoint(self._keys.origin, 0, EMPTY_ROOT)
            note = self._keys.sign(empty, self._clock() // 1000)
            self._check_ahead(self._witnesses.probe(note, empty), self._state.size)

    def _check_ahead(self, results: Sequence[WitnessResult], size: int) -> None:
        for result in results:
            if result.size is not None and result.size > size:
                raise LogRolledBack(
                    f"the witness {result.name} has cosigned {result.size} entries, and the log"
                    f" has {size}"
                )

    def _check_partitions(self) -> dict[TopicPartition, int]:
        """Return the next offset of each covered partition.

        Raises LogRolledBack if one ends below its entries, InputTruncated if one begins above.
        """
        self._covered = partitions(self._log, [full_name(topic, self._prefix) for topic in LOGGED])
        starts = self._log.starts(self._covered)
        ends = self._log.high_watermarks(self._covered)
        due = {tp: self._state.due.get(tp, 0) for tp in self._covered}
        for tp, offset in due.items():
            if ends[tp] < offset:
                raise LogRolledBack(
                    f"{tp.topic}/{tp.partition} ends at {ends[tp]}, and the log has entries of it"
                    f" below {offset}"
                )
            if starts[tp] <= offset:
                continue
            if tp not in self._accepted_gaps:
                raise InputTruncated(
                    f"{tp.topic}/{tp.partition} begins at {starts[tp]}, and {offset} is due next",
                    advice=f"`--accept-gap {tp.topic}/{tp.partition}` goes on with an entry that"
                    " says so.",
                )
            gap = GapEntry(tp.topic, tp.partition, offset, starts[tp] - 1, self._clock())
            self._gaps.append(gap)
        return {tp: max(offset, starts[tp]) for tp, offset in due.items()}

    def _check_ends(self) -> None:
        """Raise LogRolledBack if a topic of the log ends below what this process has seen."""
        entries, heads = partitions(self._log, [full_name(t, self._prefix) for t in TRANSPARENCY])
        ends = self._log.high_watermarks([entries, heads])
        batch = self._state.batch
        for tp, seen in ((entries, 0 if batch is None else batch[0]), (heads, self._heads_offset)):
            if ends[tp] < seen:
                raise LogRolledBack(
                    f"{tp.topic}/{tp.partition} ends at {ends[tp]}, and has ended at {seen}"
                )

    def _read_records(self) -> list[RecordEntry]:
        """Return entries of the records that are new.  Raises LogRolledBack."""
        assert self._reader is not None, "the writer is open"
        ends = self._log.ends(self._covered)
        for tp, end in ends.items():
            if end < self._reader.position(tp):
                raise LogRolledBack(
                    f"{tp.topic}/{tp.partition} ends at {end}, and was read to"
                    f" {self._reader.position(tp)}"
                )
        entries: list[RecordEntry] = []
        while len(entries) < AT_ONCE and any(
            self._reader.position(tp) < end for tp, end in ends.items()
        ):
            entries += map(entry_of, self._reader.poll(_POLL_S))
        return entries

    def _commit_entries(self, lines: list[bytes]) -> None:
        """Write entries in one transaction."""
        edge = RightEdge(self._state.size, list(self._state.edge.roots))
        outputs = []
        for portion in split_entries(lines):
            batch = sign_batch(self._keys.batches, self._keys.origin, edge, portion)
            outputs.append(self._output(AUDIT_ENTRIES.name, encode(_ENTRIES, batch)))
            edge.extend(portion)
        ends = self._commit(outputs)
        self._state.batch = max(ends.values()), sha256_hex(outputs[-1].value or b"")

    def _keep_position(self) -> None:
        """Write how far the folder has come; what it speaks of is on the disk."""
        state = self._state
        if state.batch is None:
            return
        edge = tuple(state.edge.roots)
        position = LogPosition(
            state.origin, *state.batch, self._heads_offset, state.size, edge, state.due
        )
        self._directory.write(POSITION, position.encode())

    def _publish(self) -> Published:
        """Sign the tree, and publish it if the quorum has cosigned it."""
        at_ms = self._clock()
        checkpoint = Checkpoint(self._keys.origin, self._state.size, self._state.edge.root())
        signed = self._sign(checkpoint, at_ms)
        results = self._cosign(checkpoint, signed)
        names = [each.name for each in results if each.signature is not None]
        if not self._keys.policy.is_met_by(names):
            return Published(None, results)
        note = add_cosignatures(signed, results)
        self._commit_head(checkpoint, note, at_ms)
        self._directory.write(CHECKPOINT, note.encode())
        self._published, self._last_note = checkpoint.size, note
        return Published(note, results)

    def _cosign(self, checkpoint: Checkpoint, note: Note) -> tuple[WitnessResult, ...]:
        """Ask the witnesses.

        Raises LogRolledBack if one has cosigned a longer log, or another one, and the log on Kafka
        bears it out.
        """
        if self._witnesses is None:
            return ()
        nodes = TileNodes(checkpoint.size, self._directory.read_tile)

        def prove(old: int) -> Sequence[bytes]:
            return prove_consistency(old, checkpoint.size, nodes.node)

        results = self._witnesses.cosign(CosigningRequest(checkpoint, note, prove, self._last_note))
        if any(each.outcome in _UNEXPECTED for each in results):
            self._check_ahead(results, self._read_log().state.size)
        return tuple(results)

    def _sign(self, checkpoint: Checkpoint, at_ms: int) -> Note:
        """Sign a checkpoint; keep it before it leaves the process."""
        note = self._keys.sign(checkpoint, at_ms // 1000)
        self._directory.write(SIGNED, note.encode())
        return note

    def _commit_head(self, checkpoint: Checkpoint, note: Note, at_ms: int) -> None:
        head = {
            "origin": checkpoint.origin,
            "size": checkpoint.size,
            "root": checkpoint.root,
            "note": note.encode().decode(),
            "quorum": True,
            "at": at_ms,
        }
        ends = self._commit([self._output(AUDIT_TREE_HEADS.name, encode(_TREE_HEAD, head))])
        self._heads_offset = max(ends.values())

    def _output(self, topic: str, value: bytes) -> Output:
        return Output(self._prefix + topic, self._keys.origin.encode(), value)

    def _commit(self, outputs: list[Output]) -> dict[TopicPartition, int]:
        try:
            return self._producer.commit(outputs)
        except Fenced as exc:
            raise Fenced(
                "another audit writer has begun and takes over", advice="Run one at a time."
            ) from exc
