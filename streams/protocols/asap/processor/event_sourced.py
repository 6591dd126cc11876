"""The state of an event-sourced task after each of its events.

Version n is the state after event n.  Each event leaves a small row: the newest snapshot up to it,
the newest patch before it, and its own patch if it brought one.  So the state at any version is one
snapshot and the chain of patches since, found without a search.

Source: ASAP spec, 4.5.
"""

from __future__ import annotations

from typing import Any

import orjson

from schemas import asap, canonical_json, formats
from streams.engine.processor import AvroValue
from streams.protocols.asap.processor import snapshots
from streams.protocols.asap.processor.case import Case
from streams.protocols.asap.processor.snapshots import New
from topology.asap import ASAP_PATCHES, ASAP_SNAPSHOTS
from topology.keys import composite

Json = dict[str, Any]

_LARGEST = ASAP_SNAPSHOTS.max_bytes - (64 << 10)
"""Bytes of a state that a row can hold."""
_NONE: AvroValue = {"previous": 0, "patch_json": None}
"""What stands before the first event, and before the first one after `close`."""


def note(case: Case) -> None:
    """Leave the row of this decision's event."""
    n = case.sequence
    before = _row(case, n - 1) or _NONE
    row = {
        "snapshot": case.row["snapshot_version"] or 0,
        "previous": before["previous"] if before["patch_json"] is None else n - 1,
        "patch_json": case.patch_json,
        "at": case.scene.at,
        "checkpoint": case.checkpoint,
    }
    case.scene.work.rows(ASAP_PATCHES).put(_key(case, n), row)


def data_at(case: Case, n: int) -> Json | None:
    """The data after event n; None where it can no longer be told."""
    row = _row(case, n)
    if row is None:
        snapshot = snapshots.find(case, n)
        return None if snapshot is None else snapshots.data_of(snapshot)
    start, patches = row["snapshot"], []
    if row["previous"] > start:
        between = range(start + 1, row["previous"] + 1)
        case.scene.work.rows(ASAP_PATCHES).load(_key(case, each) for each in between)
    while True:
        if row["patch_json"] is not None:
            patches.append(row["patch_json"])
        if row["previous"] <= start:
            break
        row = _row(case, row["previous"])
        assert row is not None, "a patch is followed by its like"
    snapshot = snapshots.find(case, start or None)
    data = {} if snapshot is None else snapshots.data_of(snapshot)
    for patch in reversed(patches):
        data = asap.merge_patch(data, orjson.loads(patch))
    return data


def state_at(case: Case, n: int) -> Json | None:
    """The state after event n as a StateSnapshot; 0 is the empty one (spec 9.7)."""
    row = _row(case, n)
    data = {} if n == 0 else data_at(case, n)
    if data is None:
        return None
    snapshot = snapshots.find(case, n)
    if snapshot is not None:
        return snapshots.shown(snapshot)
    at = case.row["created_at"] if row is None else row["at"]
    return {
        "id": asap.snapshot_id(case.task_id, n),
        "task_id": case.task_id,
        "version": n,
        "data": data,
        "checkpoint": row is not None and row["checkpoint"],
        "created_at": formats.iso_us(at * 1000),
    }


def close(case: Case) -> None:
    """Keep the last state as a snapshot, and forget how the task came to it.

    A state that patches have made too large for a row stays as it is kept.
    """
    last: int = case.row["sequence"]
    if case.row["snapshot_version"] != last:
        data, row = data_at(case, last), _row(case, last)
        assert data is not None, "the events are still there"
        assert row is not None, "the events are still there"
        if len(canonical_json(data)) > _LARGEST:
            return
        snapshots.save(case, New(data, row["checkpoint"], last, created_at=row["at"] * 1000))
        snapshots.draw_saved(case, last, None)
    rows = case.scene.work.rows(ASAP_PATCHES)
    for n in range(1, last + 1):
        rows.delete(_key(case, n))


def _row(case: Case, n: int) -> AvroValue | None:
    return case.scene.work.rows(ASAP_PATCHES).get(_key(case, n))


def _key(case: Case, version: int) -> str:
    return composite(case.task_id, str(version))
