"""Named points at which the writer of the log kills itself with SIGKILL, as workers do at theirs.

Nothing but `audit.entries` decides what the log is, so whatever stands at a point, the next writer
derives the same tree from it.
"""

from __future__ import annotations

from streams.engine import crash_points
from streams.engine.crash_points import CrashPoint
from streams.engine.kafka import KafkaTransactions
from streams.ops.tlog.tile_directory import TileDirectory
from streams.ops.tlog.writer import LogWriter

POINTS: dict[str, CrashPoint] = {
    "audit-before-commit": CrashPoint(
        KafkaTransactions, "_end", False, "the entries are on the log, in an open transaction", 1
    ),
    "audit-after-commit": CrashPoint(
        LogWriter, "_commit_entries", True, "the entries are committed, and in no tile"
    ),
    "audit-in-tiles": CrashPoint(
        TileDirectory, "write_tile", True, "a part of the tiles is in the folder"
    ),
    "audit-after-sign": CrashPoint(
        LogWriter, "_sign", True, "a checkpoint is signed, and only in the folder"
    ),
    "audit-after-witness": CrashPoint(
        LogWriter, "_cosign", True, "witnesses have cosigned it, and nobody else has it"
    ),
    "audit-before-publish": CrashPoint(
        LogWriter, "_commit_head", True, "the tree head is committed, and not in the folder"
    ),
}


def install(setting: str) -> None:
    """Make this process die at a point, given as NAME[:N].  Raises UsageError."""
    crash_points.install(setting, POINTS)
