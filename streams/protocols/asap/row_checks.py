"""Checks of the rows of `asap.snapshots`: facts saved their versions and did not delete them."""

from __future__ import annotations

from streams.replay.checks import CheckContext, RowProblems, Rows
from topology.keys import split


def snapshots(rows: Rows, context: CheckContext) -> RowProblems:
    for key, row in rows:
        version = row["task_id"], row["version"]
        if list(version) != [split(key)[0], int(split(key)[1])]:
            yield key, f"it holds version {row['version']} of {row['task_id']}"
            continue
        cause = context.seen.get("snapshot", *version)
        if cause is None:
            yield key, "no fact says that this version was saved, or one says that it was deleted"
        elif cause != row["cause"]:
            yield key, f"its cause is {row['cause']}, the fact that saved it has {cause}"
