"""A monitor of a served log: it keeps a checkpoint, and checks that the next one continues it.

It needs the policy and the addresses of the log, no broker.  What tiles say counts only where they
lead to the root that is signed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

from streams.ops.tlog.entries import parse_entry
from streams.ops.tlog.merkle import (
    EMPTY_ROOT,
    ProofInvalid,
    RightEdge,
    check_consistency,
    complete_roots,
    prove_consistency,
    tree_root,
)
from streams.ops.tlog.note import Checkpoint, Note
from streams.ops.tlog.policy import Cosignature, Policy
from streams.ops.tlog.receipt import ReceiptFault, judge_note
from streams.ops.tlog.remote import RemoteLog
from streams.ops.tlog.tiles import WIDTH, BundleMalformed, Tile, TileNodes, decode_bundle, width_of

LOOK_S = 1.0
"""How often a log that has become shorter is asked again."""


class MonitorAlarm(StrEnum):
    """The codes of what a monitor finds."""

    SPLIT_VIEW = "split_view"
    LOG_SHRUNK = "log_shrunk"
    TILES_INVALID = "tiles_invalid"
    ENTRIES_INVALID = "entries_invalid"
    SIGNATURE_INVALID = "signature_invalid"
    QUORUM_NOT_MET = "quorum_not_met"
    STALE = "stale"


class MonitorAlarmed(Exception):
    """An exception for a log that is not as it was, or not as it is signed.

    notes: the checkpoints that show it, the earlier one first.
    """

    def __init__(self, alarm: MonitorAlarm, detail: str, *notes: Note) -> None:
        super().__init__(f"{alarm}: {detail}")
        self.alarm, self.notes = alarm, notes


class ObservedHead(NamedTuple):
    """A checkpoint of a log that the policy accepts, with the cosignatures that verify."""

    note: Note
    checkpoint: Checkpoint
    cosignatures: tuple[Cosignature, ...] = ()


class LogMonitor:
    """A monitor of the log of one origin, at one address or several.

    clock: s since the epoch.  wait: waits so many s, and returns whether to stop.
    grace_s: how long a log that has become shorter is asked again.
    max_age_s: the age of the newest cosignature above which the log is stale; None for no limit.
    with_entries: whether all new entries are read too.
    """

    def __init__(
        self,
        policy: Policy,
        origin: str,
        remotes: Sequence[RemoteLog],
        clock: Callable[[], float],
        wait: Callable[[float], bool],
        grace_s: float = 60.0,
        max_age_s: float | None = None,
        *,
        with_entries: bool = False,
    ) -> None:
        self._policy, self._origin, self._remotes = policy, origin, remotes
        self._clock, self._wait, self._grace_s = clock, wait, grace_s
        self._max_age_s, self._with_entries = max_age_s, with_entries
        self._due: dict[tuple[str, int], int] = {}

    def look(self, previous: ObservedHead | None) -> ObservedHead:
        """Return the checkpoint at the first address, which continues the previous one.

        Raises MonitorAlarmed, LogUnavailable.
        """
        heads = [self._read(remote, previous) for remote in self._remotes]
        for remote, head in zip(self._remotes, heads, strict=True):
            _check_growth(previous, head, remote)
        first = heads[0]
        for remote, head in zip(self._remotes[1:], heads[1:], strict=True):
            if head.checkpoint.size < first.checkpoint.size:
                _check_growth(head, first, self._remotes[0])
            else:
                _check_growth(first, head, remote)
        self._check_age(first)
        if self._with_entries:
            self._check_entries(previous, first)
        return first

    def _read(self, remote: RemoteLog, previous: ObservedHead | None) -> ObservedHead:
        """Return the checkpoint there; a shorter log is asked again, since gateways may lag."""
        head = self._read_once(remote)
        deadline = self._clock() + self._grace_s
        while previous is not None and head.checkpoint.size < previous.checkpoint.size:
            if self._clock() >= deadline or self._wait(LOOK_S):
                sizes = f"{head.checkpoint.size} entries, and had {previous.checkpoint.size}"
                raise MonitorAlarmed(
                    MonitorAlarm.LOG_SHRUNK, f"{remote.url} has {sizes}", previous.note, head.note
                )
            head = self._read_once(remote)
        return head

    def _read_once(self, remote: RemoteLog) -> ObservedHead:
        note, checkpoint = remote.read_checkpoint()
        if checkpoint.origin != self._origin:
            detail = f"{remote.url} is the log {checkpoint.origin}, not {self._origin}"
            raise MonitorAlarmed(MonitorAlarm.SIGNATURE_INVALID, detail, note)
        judgement = judge_note(note, checkpoint, self._policy)
        if judgement.fault is None:
            return ObservedHead(note, checkpoint, judgement.cosignatures)
        lacks_quorum = judgement.fault is ReceiptFault.QUORUM_NOT_MET
        alarm = MonitorAlarm.QUORUM_NOT_MET if lacks_quorum else MonitorAlarm.SIGNATURE_INVALID
        raise MonitorAlarmed(alarm, f"{remote.url}: {judgement.detail}", note)

    def _check_age(self, head: ObservedHead) -> None:
        """Raise MonitorAlarmed if the newest cosignature is too old; without any it has no time."""
        newest_s = max((each.at_s for each in head.cosignatures), default=None)
        if self._max_age_s is None or newest_s is None:
            return
        age_s = self._clock() - newest_s
        if age_s > self._max_age_s:
            detail = f"the newest cosignature is {age_s:.0f} s old"
            raise MonitorAlarmed(MonitorAlarm.STALE, detail, head.note)

    def _check_entries(self, previous: ObservedHead | None, head: ObservedHead) -> None:
        """Read the entries that are new, and hold them against the root and the order rule."""
        remote, size = self._remotes[0], head.checkpoint.size
        begin = 0 if previous is None else previous.checkpoint.size
        edge = RightEdge(begin, complete_roots(begin, TileNodes(size, remote.read_tile).node))
        due = dict(self._due) if begin else {}
        for index in range(begin // WIDTH, -(-size // WIDTH)):
            lines = _read_bundle(remote, Tile(None, index, width_of(None, index, size)), head.note)
            for line in lines[max(0, begin - index * WIDTH) :]:
                _check_order(line, due, edge.size, head.note)
                edge.extend([line])
        if edge.root() != head.checkpoint.root:
            detail = f"the entries {begin} to {size - 1} do not lead to the root that is signed"
            raise MonitorAlarmed(MonitorAlarm.ENTRIES_INVALID, detail, head.note)
        self._due = due


def _check_growth(old: ObservedHead | None, new: ObservedHead, remote: RemoteLog) -> None:
    """Check that the tree of `new`, which is served there, begins with that of `old`."""
    before = Checkpoint(new.checkpoint.origin, 0, EMPTY_ROOT) if old is None else old.checkpoint
    after = new.checkpoint
    if before == after:
        return
    notes = (new.note,) if old is None else (old.note, new.note)
    if before.size < after.size:
        root = _derive_root(before.size, after, remote, notes)
    else:
        root = after.root
    if root != before.root:
        detail = f"the log at {remote.url} is another one than that of {before.size} entries before"
        raise MonitorAlarmed(MonitorAlarm.SPLIT_VIEW, detail, *notes)


def _derive_root(size: int, new: Checkpoint, remote: RemoteLog, notes: tuple[Note, ...]) -> bytes:
    """Return the root of the first `size` entries, from tiles that lead to the signed root."""
    nodes = TileNodes(new.size, remote.read_tile)
    derived = tree_root(size, nodes.node)
    path = prove_consistency(size, new.size, nodes.node)
    try:
        check_consistency(size, derived, new.size, new.root, path)
        is_signed = size > 0 or tree_root(new.size, nodes.node) == new.root
    except ProofInvalid:
        is_signed = False
    if not is_signed:
        detail = f"the tiles at {remote.url} do not lead to the root that is signed"
        raise MonitorAlarmed(MonitorAlarm.TILES_INVALID, detail, *notes)
    return derived


def _read_bundle(remote: RemoteLog, tile: Tile, note: Note) -> list[bytes]:
    try:
        lines = decode_bundle(remote.read_bundle(tile))[: tile.width]
    except BundleMalformed as exc:
        raise MonitorAlarmed(MonitorAlarm.ENTRIES_INVALID, f"{tile.path}: {exc}", note) from exc
    if len(lines) < tile.width:
        detail = f"{tile.path} has {len(lines)} entries, not {tile.width}"
        raise MonitorAlarmed(MonitorAlarm.ENTRIES_INVALID, detail, note)
    return lines


def _check_order(line: bytes, due: dict[tuple[str, int], int], index: int, note: Note) -> None:
    """Check that offsets rise in each partition.  due: the first offset that may come next."""
    entry = parse_entry(line)
    if entry is None:
        return
    partition = entry.topic, entry.partition
    if entry.begin < due.get(partition, 0):
        detail = f"entry {index} lies below an earlier one of {entry.topic}/{entry.partition}"
        raise MonitorAlarmed(MonitorAlarm.ENTRIES_INVALID, detail, note)
    due[partition] = entry.end
