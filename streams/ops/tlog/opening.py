"""The log as a writer finds it at its start, compared with every checkpoint that was signed.

With the position in its folder, a writer reads only the batches after it: the last batch before it
is still there, and signs the tree that it follows on, and the tiles of the folder have the tree
after it.  Without, or if anything differs, it reads the log from its beginning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import NamedTuple

from schemas import sha256_hex
from streams.engine.log import Log
from streams.errors import SettingsError
from streams.log.reading import partitions, records
from streams.ops.tlog.batches import EntrySequence
from streams.ops.tlog.errors import LogRolledBack
from streams.ops.tlog.heads import SignedHead, choose_newest, parse_head, read_heads
from streams.ops.tlog.log_keys import LogKeys
from streams.ops.tlog.merkle import RightEdge, tree_root
from streams.ops.tlog.position import LogPosition
from streams.ops.tlog.tile_directory import CHECKPOINT, POSITION, SIGNED, TileDirectory
from streams.ops.tlog.tiles import TileNodes
from topology.core import AUDIT_ENTRIES, AUDIT_TREE_HEADS
from topology.topics import full_name


class OpenedLog(NamedTuple):
    """The log at the start of a writer.

    newest: the newest published head.  heads_offset: the next one of `audit.tree-heads`; the heads
    below it were compared with the tree.
    """

    state: EntrySequence
    newest: SignedHead | None
    heads_offset: int


class LogOpener:
    """Reads a log to its end, and brings the folder of its writer up to it."""

    def __init__(self, log: Log, prefix: str, keys: LogKeys, directory: TileDirectory) -> None:
        self._log, self._prefix, self._keys, self._directory = log, prefix, keys, directory
        (self._entries,) = partitions(log, [full_name(AUDIT_ENTRIES, prefix)])
        (self._heads,) = partitions(log, [full_name(AUDIT_TREE_HEADS, prefix)])

    def open(self) -> OpenedLog:
        """Read the log, and write the tiles that the folder lacks.

        Raises LogRolledBack if a checkpoint that was signed is not one of the log, SettingsError if
        the folder is of another log.
        """
        position = self._read_position()
        if position is not None:
            with suppress(LogRolledBack):  # the whole log says whether it is
                return self._open(position)
        return self._open(None)

    def _open(self, position: LogPosition | None) -> OpenedLog:
        heads_offset = self._log.high_watermarks([self._heads])[self._heads]
        published = self._read_published(position)
        signed = self._read_head(SIGNED)
        heads = published if signed is None else [*published, signed]
        state = self._new_state(position, {head.checkpoint.size for head in heads})
        for _ in self._read_entries(state):
            pass
        for head in heads:
            self._check_head(head, state, position)
        self._write_tiles(position)
        newest = choose_newest(published)
        if newest is not None:
            self._directory.write(CHECKPOINT, newest.note.encode())
        return OpenedLog(state, newest, heads_offset)

    def _read_position(self) -> LogPosition | None:
        """Return the position in the folder, None if the log or the tiles do not bear it out."""
        position = LogPosition.parse(self._directory.read(POSITION))
        if position is None or position.origin != self._keys.origin:
            return None
        offset, tps = position.offset - 1, [self._entries, self._heads]
        starts, ends = self._log.starts(tps), self._log.high_watermarks(tps)
        is_there = starts[self._entries] == 0 and offset < ends[self._entries]
        if not is_there or not starts[self._heads] <= position.heads_offset <= ends[self._heads]:
            return None
        limits = {self._entries: position.offset}
        batch = next(records(self._log, [self._entries], limits, {self._entries: offset}), None)
        if batch is None or sha256_hex(batch.value or b"") != position.batch_sha256:
            return None
        try:
            edge = self._directory.resume(position.size)
        except ValueError:
            return None
        return position if tuple(edge.roots) == position.edge else None

    def _read_published(self, position: LogPosition | None) -> list[SignedHead]:
        """Return the published heads; with a position, those after it and the newest before it."""
        policy, origin = self._keys.policy, self._keys.origin
        begin = None if position is None else position.heads_offset
        published = read_heads(self._log, self._prefix, policy, origin, begin)
        before = None if position is None else self._read_head(CHECKPOINT)
        return published if before is None else [before, *published]

    def _read_head(self, name: str) -> SignedHead | None:
        """Return the checkpoint in a file of the folder, None if there is none.

        Raises SettingsError if it is of another log.
        """
        data = self._directory.read(name)
        if data is None:
            return None
        head = parse_head(data, self._keys.policy, self._keys.origin)
        if head is None:
            raise SettingsError(
                f"{name} in HEADRACE_TLOG_DIR is not signed by a key of {self._keys.origin}",
                advice="Give each log a folder of its own; replaced keys stay in the policy.",
            )
        return head

    def _new_state(
        self, position: LogPosition | None, sizes: Collection[int] = ()
    ) -> EntrySequence:
        keys = self._keys.policy.keys_of(self._keys.origin)
        state = EntrySequence(self._keys.origin, keys, sizes)
        if position is not None:
            state.resume(RightEdge(position.size, list(position.edge)), position.due)
            state.batch = position.offset, position.batch_sha256
        return state

    def _read_entries(self, state: EntrySequence) -> Iterator[list[bytes]]:
        """Read the batches after a state into it; yield the entries of each."""
        tps = [self._entries]
        begins = self._log.starts(tps) if state.batch is None else {self._entries: state.batch[0]}
        for record in records(self._log, tps, self._log.high_watermarks(tps), begins):
            yield state.read(record)

    def _check_head(
        self, head: SignedHead, state: EntrySequence, position: LogPosition | None
    ) -> None:
        size = head.checkpoint.size
        if position is None or size >= position.size:
            root = state.roots.get(size)
        else:
            root = tree_root(size, TileNodes(position.size, self._directory.read_tile).node)
        if root != head.checkpoint.root:
            what = "is shorter" if root is None else "has another root there"
            raise LogRolledBack(
                f"a checkpoint of {size} entries was signed, and the log of {state.size} {what}"
            )

    def _write_tiles(self, position: LogPosition | None) -> None:
        if position is None:
            self._directory.resume(0)
        state = self._new_state(position)
        first = state.size
        for lines in self._read_entries(state):
            self._directory.append(lines)
        if state.size > first:
            self._directory.flush()
