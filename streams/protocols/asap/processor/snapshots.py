"""The snapshots of a task, and the history of an event-sourced one.

A version number is never reused, not even after its snapshot is deleted.  The existing versions
are stored as ranges: `[1, 5, 7, 7]` is 1 to 5, and 7.  A counter makes one range of any number of
versions, so that the set stays small.

In an event-sourced task version n is the state after event n.  Each event writes a small row: the
newest snapshot up to it, the newest patch before it, and its own patch if it has one.  So the
state at any version is one snapshot and the chain of patches since, without a search.

Source: ASAP guide, 4.4, 4.5 and 5.4.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from schemas import asap, canonical_json, formats
from streams.engine.processor import AvroValue
from streams.processing.graph import LineageEdge
from streams.protocols.asap.processor.decision import envelope_node, snapshot_node, task_node
from streams.protocols.asap.processor.task import TaskAggregate
from topology import next_version
from topology.asap import (
    ASAP_PATCHES,
    ASAP_SNAPSHOT_IDS,
    ASAP_SNAPSHOTS,
    ASAP_SNAPSHOTS_TABLE,
    ASAP_VERSIONS,
)
from topology.keys import composite

Ranges = list[int]
Json = dict[str, Any]
_MAX_STATE_BYTES = ASAP_SNAPSHOTS.max_bytes - (64 << 10)
"""The bytes of a state that fit in a row."""
_NO_EVENT: AvroValue = {"previous": 0, "patch_json": None}
"""The row before the first event, and before the first one after `close_history`."""


class NewSnapshot(NamedTuple):
    """A snapshot to be saved.  The counter, the decision and its time replace what is None.

    created_at: microseconds.  restored_from: the version that it is a copy of.
    """

    data: Mapping[str, Any]
    checkpoint: bool = False
    version: int | None = None
    id: str | None = None
    created_at: int | None = None
    restored_from: int | None = None


def save(task: TaskAggregate, new: NewSnapshot) -> int:
    """Save a snapshot and return its version."""
    row, ctx = task.row, task.ctx
    if task.event_sourced:
        version = new.version or task.sequence
        snapshot_id = asap.snapshot_id(task.task_id, version)
    else:
        version = new.version or next_version((), row["snapshot_mark"])
        snapshot_id = ctx.snapshot_id if new.id is None else new.id
        _index_snapshot(task, version, snapshot_id)
    snapshot = {
        "id": snapshot_id,
        "task_id": task.task_id,
        "version": version,
        "data_json": canonical_json(new.data).decode(),
        "checkpoint": new.checkpoint,
        "created_at": ctx.at * 1000 if new.created_at is None else new.created_at,
        "restored_from": new.restored_from,
        "cause": ctx.cause,
    }
    ctx.work.rows(ASAP_SNAPSHOTS_TABLE).put(_key(task, version), snapshot)
    row["snapshot_mark"] = max(row["snapshot_mark"], version)
    row["snapshot_version"] = max(row["snapshot_version"] or 0, version)
    task.snapshot_version = version
    return version


def emit_saved_edges(task: TaskAggregate, version: int, envelope_id: str | None) -> None:
    """Emit the edges of a saved snapshot.  envelope_id: of the envelope with the data, if any."""
    node = snapshot_node(task.task_id, version)
    task.ctx.emit_edge(LineageEdge(node, "part_of", task_node(task.task_id)))
    if envelope_id is not None:
        task.ctx.emit_edge(LineageEdge(node, "derived_from", envelope_node(envelope_id)))


def delete(task: TaskAggregate, version: int | None) -> list[int]:
    """Delete one version, or all; return the deleted ones.  Snapshot mode only."""
    before = _ranges(task)
    if version is None:
        deleted, after = list(each_version(before)), []
    else:
        deleted = [version] if has_version(before, version) else []
        after = remove_version(before, version)
    work = task.ctx.work
    work.rows(ASAP_SNAPSHOTS_TABLE).load(_key(task, each) for each in deleted)
    for each in deleted:
        _forget_id(task, each)
        work.rows(ASAP_SNAPSHOTS_TABLE).delete(_key(task, each))
    if deleted:
        _save_ranges(task, after)
        task.row["snapshot_version"] = after[-1] if after else None
    return deleted


def find(task: TaskAggregate, version: int | None) -> AvroValue | None:
    """Return the AsapSnapshot of a version; None for the version None."""
    if version is None:
        return None
    return task.ctx.work.rows(ASAP_SNAPSHOTS_TABLE).get(_key(task, version))


def find_id(task: TaskAggregate, snapshot_id: str) -> AvroValue | None:
    """Return the AsapSnapshot with this id.  Snapshot mode only."""
    row = task.ctx.work.rows(ASAP_SNAPSHOT_IDS).get(composite(task.task_id, snapshot_id))
    return None if row is None else find(task, row["version"])


def data_of(snapshot: AvroValue) -> Json:
    data: Json = orjson.loads(snapshot["data_json"])
    return data


def state_snapshot(snapshot: AvroValue) -> Json:
    """Return the StateSnapshot (ASAP guide, 2.2) of a row."""
    return {
        "id": snapshot["id"],
        "task_id": snapshot["task_id"],
        "version": snapshot["version"],
        "data": data_of(snapshot),
        "checkpoint": snapshot["checkpoint"],
        "created_at": formats.iso_us(snapshot["created_at"]),
    }


def _key(task: TaskAggregate, version: int) -> str:
    return composite(task.task_id, str(version))


def _index_snapshot(task: TaskAggregate, version: int, snapshot_id: str) -> None:
    before = _ranges(task)
    if has_version(before, version):
        _forget_id(task, version)
    else:
        _save_ranges(task, add_version(before, version))
    ids = task.ctx.work.rows(ASAP_SNAPSHOT_IDS)
    ids.put(composite(task.task_id, snapshot_id), {"version": version})


def _forget_id(task: TaskAggregate, version: int) -> None:
    """Delete the version's id from the index, unless the id belongs to a later version."""
    snapshot = find(task, version)
    assert snapshot is not None, "a version that exists has its snapshot"
    ids = task.ctx.work.rows(ASAP_SNAPSHOT_IDS)
    key = composite(task.task_id, snapshot["id"])
    row = ids.get(key)
    if row is not None and row["version"] == version:
        ids.delete(key)


def _ranges(task: TaskAggregate) -> Ranges:
    row = task.ctx.work.rows(ASAP_VERSIONS).get(composite(task.task_id))
    return [] if row is None else row["ranges"]


def _save_ranges(task: TaskAggregate, ranges: Ranges) -> None:
    rows = task.ctx.work.rows(ASAP_VERSIONS)
    if ranges:
        rows.put(composite(task.task_id), {"ranges": ranges})
    else:
        rows.delete(composite(task.task_id))


def record_event(task: TaskAggregate) -> None:
    """Write the row of this decision's event."""
    n = task.sequence
    before = _event_row(task, n - 1) or _NO_EVENT
    row = {
        "snapshot": task.row["snapshot_version"] or 0,
        "previous": before["previous"] if before["patch_json"] is None else n - 1,
        "patch_json": task.patch_json,
        "at": task.ctx.at,
        "checkpoint": task.checkpoint,
    }
    task.ctx.work.rows(ASAP_PATCHES).put(_key(task, n), row)


def data_at(task: TaskAggregate, n: int) -> Json | None:
    """Return the data after event n; None if it is no longer known."""
    row = _event_row(task, n)
    if row is None:
        snapshot = find(task, n)
        return None if snapshot is None else data_of(snapshot)
    start, patches = row["snapshot"], []
    if row["previous"] > start:
        between = range(start + 1, row["previous"] + 1)
        task.ctx.work.rows(ASAP_PATCHES).load(_key(task, each) for each in between)
    while True:
        if row["patch_json"] is not None:
            patches.append(row["patch_json"])
        if row["previous"] <= start:
            break
        row = _event_row(task, row["previous"])
        assert row is not None, "a patch is followed by its like"
    snapshot = find(task, start or None)
    data = {} if snapshot is None else data_of(snapshot)
    for patch in reversed(patches):
        data = asap.merge_patch(data, orjson.loads(patch))
    return data


def state_at(task: TaskAggregate, n: int) -> Json | None:
    """Return the state after event n as a StateSnapshot; 0 is the empty one (ASAP guide, 5.4)."""
    row = _event_row(task, n)
    data = {} if n == 0 else data_at(task, n)
    if data is None:
        return None
    snapshot = find(task, n)
    if snapshot is not None:
        return state_snapshot(snapshot)
    at = task.row["created_at"] if row is None else row["at"]
    return {
        "id": asap.snapshot_id(task.task_id, n),
        "task_id": task.task_id,
        "version": n,
        "data": data,
        "checkpoint": row is not None and row["checkpoint"],
        "created_at": formats.iso_us(at * 1000),
    }


def close_history(task: TaskAggregate) -> None:
    """Save the last state as a snapshot, and delete the rows of the events.

    If patches have made the state too large for a row, the rows of the events stay.
    """
    last: int = task.row["sequence"]
    if task.row["snapshot_version"] != last:
        data, row = data_at(task, last), _event_row(task, last)
        assert data is not None, "the events are still there"
        assert row is not None, "the events are still there"
        if len(canonical_json(data)) > _MAX_STATE_BYTES:
            return
        save(task, NewSnapshot(data, row["checkpoint"], last, created_at=row["at"] * 1000))
        emit_saved_edges(task, last, None)
    rows = task.ctx.work.rows(ASAP_PATCHES)
    for n in range(1, last + 1):
        rows.delete(_key(task, n))


def _event_row(task: TaskAggregate, n: int) -> AvroValue | None:
    return task.ctx.work.rows(ASAP_PATCHES).get(_key(task, n))


def has_version(ranges: Sequence[int], version: int) -> bool:
    index = bisect_left(ranges[1::2], version)
    return 2 * index < len(ranges) and ranges[2 * index] <= version


def add_version(ranges: Sequence[int], version: int) -> Ranges:
    """Return the ranges with this version."""
    if has_version(ranges, version):
        return list(ranges)
    index = 2 * bisect_right(ranges[::2], version)
    before, after = list(ranges[:index]), list(ranges[index:])
    low = high = version
    if before and before[-1] == version - 1:
        low = before[-2]
        before = before[:-2]
    if after and after[0] == version + 1:
        high = after[1]
        after = after[2:]
    return [*before, low, high, *after]


def remove_version(ranges: Sequence[int], version: int) -> Ranges:
    """Return the ranges without this version."""
    if not has_version(ranges, version):
        return list(ranges)
    index = 2 * bisect_left(ranges[1::2], version)
    low, high = ranges[index], ranges[index + 1]
    left = [low, version - 1] if low < version else []
    right = [version + 1, high] if version < high else []
    return [*ranges[:index], *left, *right, *ranges[index + 2 :]]


def each_version(ranges: Sequence[int]) -> Iterator[int]:
    """Yield all versions, ascending."""
    for low, high in zip(ranges[::2], ranges[1::2], strict=True):
        yield from range(low, high + 1)
