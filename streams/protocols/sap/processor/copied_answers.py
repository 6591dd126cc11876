"""The cached answer that a task gets at its admission, from the worker's copy of the cache.

The head of a cacheKey lies with another task, so a version counts here as it does in a view: its
hash is the one that the verdict `stored` names, and the one that the version after it names.  The
newest version that the copy knows may not be the newest there is: the answer is one that the task
may use all the same.  Whatever the copy cannot answer is looked up.

The verdict names the position of that verdict as its lookup, and the hash of its record.  It is
read by its own processor too, which has closed the task by then.

Source: SAP guide, 5.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from schemas import decode, encode
from streams.engine.processor import AvroValue, GlobalTable
from streams.engine.refused_rows import PROCESS
from streams.errors import InternalUnreadable
from streams.protocols.sap.cache.lookup import choose_version, make_result
from streams.protocols.sap.cache.slot import Version, read_version
from streams.protocols.sap.counted_versions import highest_version, row_name
from streams.protocols.sap.processor import cache_replies
from streams.protocols.sap.processor.aggregate import TaskAggregate
from streams.protocols.sap.processor.cache_replies import VERDICT
from topology.sap import SAP_CACHE, SAP_CACHE_TABLE, SAP_STORED_VERSIONS, SAP_VERDICTS


class CopiedVersion(NamedTuple):
    """A version that counts.  stored: the verdict that it was stored."""

    version: Version
    stored: AvroValue


def serve(task: TaskAggregate) -> bool:
    """End a task with a cached answer; return False if the copy has none that it may use."""
    ctx, accepted = task.ctx, task.accepted
    versions = list(_counted_versions(accepted["cacheKey"], task))
    lookup = {
        "taskId": task.task_id,
        "task": task.envelope,
        "reason": task.row["constitution"],
        **{name: accepted[name] for name in ("maxAgeSec", "mustAlign", "policy")},
    }
    result = choose_version(lookup, [one.version for one in versions], ctx.at, ctx.constitution)
    if result.version is None:
        return False
    version, stored = versions[versions[0].version.number - result.version.number]
    lookup["lookupId"] = position = stored["position"]
    result = result._replace(reason=f"{result.reason}; at admission, stored at {position}")
    verdict = make_result(lookup, result, accepted["cacheKey"], ctx)
    verdict["recordSha256"] = version.json["recordSha256"]
    ctx.send(SAP_VERDICTS, task.task_id, verdict, verdict["verdictId"])
    cache_replies.apply(task, _as_read(verdict))
    return True


def _counted_versions(cache_key: str, task: TaskAggregate) -> Iterator[CopiedVersion]:
    """Yield the versions that count, the newest first.

    None if there is a row after the newest verdict: the copy lags, or has left that verdict out.
    """
    work, max_count = task.ctx.work, task.ctx.setting("CACHE_SCAN")
    rows, verdicts = work.global_table(SAP_CACHE_TABLE), work.global_table(SAP_STORED_VERSIONS)
    newest = highest_version(lambda n: _read_row(verdicts, row_name(cache_key, n)) is not None)
    if _read_row(rows, row_name(cache_key, newest + 1)) is not None:
        return
    named_by_next: str | None = None
    for number in range(newest, max(0, newest - max_count), -1):
        row_key = row_name(cache_key, number)
        stored, row = _read_row(verdicts, row_key), _read_row(rows, row_key)
        if stored is None or row is None:
            return
        expected = stored["recordSha256"] or named_by_next
        if expected is None or named_by_next not in (None, expected):
            return
        version = read_version(cache_key, number, row, expected)
        if isinstance(version, str):
            PROCESS.count(SAP_CACHE.name, version, row_key)
            return
        yield CopiedVersion(version, stored)
        named_by_next = version.json["previousSha256"]


def _as_read(verdict: AvroValue) -> AvroValue:
    """Return a verdict as its reader gets it, with the members that the evaluation leaves out."""
    return decode(encode(VERDICT, verdict), VERDICT).value


def _read_row(table: GlobalTable, key: str) -> AvroValue | None:
    """Return a row of the copy, None if it is not there yet or nobody can read it."""
    try:
        return table.get(key)
    except InternalUnreadable:
        return None
