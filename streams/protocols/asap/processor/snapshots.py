"""Snapshots of a task, and the history of an event-sourced one.

A version once given is never given again, not even when its snapshot is gone.  Which versions exist
is kept as ranges: `[1, 5, 7, 7]` is 1 to 5, and 7.  A counter makes one range of any number of
versions, so that the set stays small.

In an event-sourced task version n is the state after event n.  Each event leaves a small row: the
newest snapshot up to it, the newest patch before it, and its own patch if it brought one.  So the
state at any version is one snapshot and the chain of patches since, found without a search.

Source: ASAP spec, 4.4, 4.5 and 5.4.
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
"""Bytes of a state that a row can hold."""
_NO_EVENT: AvroValue = {"previous": 0, "patch_json": None}
"""What stands before the first event, and before the first one after `close_history`."""


class NewSnapshot(NamedTuple):
    """A snapshot to be saved.  What is None is given by the counter, the decision, its time.

    created_at: microseconds.  restored_from: the version that it is a copy of.
    """

    data: Mapping[str, Any]
    checkpoint: bool = False
    version: int | None = None
    id: str | None = None
    created_at: int | None = None
    restored_from: int | None = None


def save(task: TaskAggregate, new: NewSnapshot) -> int:
    """Returns the version."""
    row, ctx = task.row, task.ctx
    if task.event_sourced:
        version = new.version or task.sequence
        snapshot_id = asap.snapshot_id(task.task_id, version)
    else:
        version = new.version or next_version((), row["snapshot_mark"])
        snapshot_id = ctx.snapshot_id if new.id is None else new.id
        _index(task, version, snapshot_id)
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


def draw_saved(task: TaskAggregate, version: int, envelope_id: str | None) -> None:
    """envelope_id: of the envelope that brought the data, if one did."""
    own = snapshot_node(task.task_id, version)
    task.ctx.draw(LineageEdge(own, "part_of", task_node(task.task_id)))
    if envelope_id is not None:
        task.ctx.draw(LineageEdge(own, "derived_from", envelope_node(envelope_id)))


def delete(task: TaskAggregate, version: int | None) -> list[int]:
    """Delete one version, or all; returns those that were there.  Snapshot mode only."""
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
        _keep_ranges(task, after)
        task.row["snapshot_version"] = after[-1] if after else None
    return deleted


def find(task: TaskAggregate, version: int | None) -> AvroValue | None:
    """The AsapSnapshot of a version; None is none."""
    if version is None:
        return None
    return task.ctx.work.rows(ASAP_SNAPSHOTS_TABLE).get(_key(task, version))


def find_id(task: TaskAggregate, snapshot_id: str) -> AvroValue | None:
    """The AsapSnapshot of this id.  Snapshot mode only."""
    known = task.ctx.work.rows(ASAP_SNAPSHOT_IDS).get(composite(task.task_id, snapshot_id))
    return None if known is None else find(task, known["version"])


def data_of(snapshot: AvroValue) -> Json:
    data: Json = orjson.loads(snapshot["data_json"])
    return data


def state_snapshot(snapshot: AvroValue) -> Json:
    """The StateSnapshot (spec 2.2) of a row."""
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


def _index(task: TaskAggregate, version: int, snapshot_id: str) -> None:
    before = _ranges(task)
    if has_version(before, version):
        _forget_id(task, version)
    else:
        _keep_ranges(task, add_version(before, version))
    ids = task.ctx.work.rows(ASAP_SNAPSHOT_IDS)
    ids.put(composite(task.task_id, snapshot_id), {"version": version})


def _forget_id(task: TaskAggregate, version: int) -> None:
    """An id stands for the version that was saved with it last."""
    snapshot = find(task, version)
    assert snapshot is not None, "a version that exists has its snapshot"
    ids = task.ctx.work.rows(ASAP_SNAPSHOT_IDS)
    key = composite(task.task_id, snapshot["id"])
    known = ids.get(key)
    if known is not None and known["version"] == version:
        ids.delete(key)


def _ranges(task: TaskAggregate) -> Ranges:
    row = task.ctx.work.rows(ASAP_VERSIONS).get(composite(task.task_id))
    return [] if row is None else row["ranges"]


def _keep_ranges(task: TaskAggregate, ranges: Ranges) -> None:
    rows = task.ctx.work.rows(ASAP_VERSIONS)
    if ranges:
        rows.put(composite(task.task_id), {"ranges": ranges})
    else:
        rows.delete(composite(task.task_id))


def record_event(task: TaskAggregate) -> None:
    """Leave the row of this decision's event."""
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
    """The data after event n; None where it can no longer be told."""
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
    """The state after event n as a StateSnapshot; 0 is the empty one (spec 9.7)."""
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
    """Keep the last state as a snapshot, and forget how the task came to it.

    A state that patches have made too large for a row stays as it is kept.
    """
    last: int = task.row["sequence"]
    if task.row["snapshot_version"] != last:
        data, row = data_at(task, last), _event_row(task, last)
        assert data is not None, "the events are still there"
        assert row is not None, "the events are still there"
        if len(canonical_json(data)) > _MAX_STATE_BYTES:
            return
        save(task, NewSnapshot(data, row["checkpoint"], last, created_at=row["at"] * 1000))
        draw_saved(task, last, None)
    rows = task.ctx.work.rows(ASAP_PATCHES)
    for n in range(1, last + 1):
        rows.delete(_key(task, n))


def _event_row(task: TaskAggregate, n: int) -> AvroValue | None:
    return task.ctx.work.rows(ASAP_PATCHES).get(_key(task, n))


def has_version(ranges: Sequence[int], version: int) -> bool:
    place = bisect_left(ranges[1::2], version)
    return 2 * place < len(ranges) and ranges[2 * place] <= version


def add_version(ranges: Sequence[int], version: int) -> Ranges:
    """With one more version, which may be there already."""
    if has_version(ranges, version):
        return list(ranges)
    place = 2 * bisect_right(ranges[::2], version)
    before, after = list(ranges[:place]), list(ranges[place:])
    low = high = version
    if before and before[-1] == version - 1:
        low = before[-2]
        before = before[:-2]
    if after and after[0] == version + 1:
        high = after[1]
        after = after[2:]
    return [*before, low, high, *after]


def remove_version(ranges: Sequence[int], version: int) -> Ranges:
    """Without one version, which need not be there."""
    if not has_version(ranges, version):
        return list(ranges)
    place = 2 * bisect_left(ranges[1::2], version)
    low, high = ranges[place], ranges[place + 1]
    left = [low, version - 1] if low < version else []
    right = [version + 1, high] if version < high else []
    return [*ranges[:place], *left, *right, *ranges[place + 2 :]]


def each_version(ranges: Sequence[int]) -> Iterator[int]:
    """All versions, ascending."""
    for low, high in zip(ranges[::2], ranges[1::2], strict=True):
        yield from range(low, high + 1)
