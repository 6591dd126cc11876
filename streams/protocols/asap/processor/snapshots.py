"""Snapshots of a task: saved, deleted, found again.

A version once given is never given again, not even when its snapshot is gone.  In an event-sourced
task a snapshot's version is the sequence of the event that saved it.

Source: ASAP spec, 4.4 and 5.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from schemas import asap, canonical_json, formats
from streams.engine.processor import AvroValue
from streams.processing.graph import Edge
from streams.protocols.asap.processor import lineage, versions
from streams.protocols.asap.processor.case import Case
from streams.protocols.asap.processor.versions import Ranges
from topology import next_version
from topology.asap import ASAP_SNAPSHOT_IDS, ASAP_SNAPSHOTS_TABLE, ASAP_VERSIONS
from topology.keys import composite

Json = dict[str, Any]


class New(NamedTuple):
    """A snapshot to be saved.  What is None is given by the counter, the decision, its time.

    created_at: microseconds.  restored_from: the version that it is a copy of.
    """

    data: Mapping[str, Any]
    checkpoint: bool = False
    version: int | None = None
    id: str | None = None
    created_at: int | None = None
    restored_from: int | None = None


def save(case: Case, new: New) -> int:
    """Returns the version."""
    row, scene = case.row, case.scene
    if case.event_sourced:
        version = new.version or case.sequence
        snapshot_id = asap.snapshot_id(case.task_id, version)
    else:
        version = new.version or next_version((), row["snapshot_mark"])
        snapshot_id = scene.snapshot_id if new.id is None else new.id
        _index(case, version, snapshot_id)
    snapshot = {
        "id": snapshot_id,
        "task_id": case.task_id,
        "version": version,
        "data_json": canonical_json(new.data).decode(),
        "checkpoint": new.checkpoint,
        "created_at": scene.at * 1000 if new.created_at is None else new.created_at,
        "restored_from": new.restored_from,
        "cause": scene.cause,
    }
    scene.work.rows(ASAP_SNAPSHOTS_TABLE).put(_key(case, version), snapshot)
    row["snapshot_mark"] = max(row["snapshot_mark"], version)
    row["snapshot_version"] = max(row["snapshot_version"] or 0, version)
    case.snapshot_version = version
    return version


def draw_saved(case: Case, version: int, envelope_id: str | None) -> None:
    """envelope_id: of the envelope that brought the data, if one did."""
    own = lineage.snapshot(case.task_id, version)
    case.scene.draw(Edge(own, "part_of", lineage.task(case.task_id)))
    if envelope_id is not None:
        case.scene.draw(Edge(own, "derived_from", lineage.envelope(envelope_id)))


def delete(case: Case, version: int | None) -> list[int]:
    """Delete one version, or all; returns those that were there.  Snapshot mode only."""
    before = _ranges(case)
    if version is None:
        deleted, after = list(versions.each(before)), []
    else:
        deleted = [version] if versions.contains(before, version) else []
        after = versions.removed(before, version)
    work = case.scene.work
    work.rows(ASAP_SNAPSHOTS_TABLE).load(_key(case, each) for each in deleted)
    for each in deleted:
        _forget_id(case, each)
        work.rows(ASAP_SNAPSHOTS_TABLE).delete(_key(case, each))
    if deleted:
        _keep_ranges(case, after)
        case.row["snapshot_version"] = after[-1] if after else None
    return deleted


def find(case: Case, version: int | None) -> AvroValue | None:
    """The AsapSnapshot of a version; None is none."""
    if version is None:
        return None
    return case.scene.work.rows(ASAP_SNAPSHOTS_TABLE).get(_key(case, version))


def find_id(case: Case, snapshot_id: str) -> AvroValue | None:
    """The AsapSnapshot of this id.  Snapshot mode only."""
    known = case.scene.work.rows(ASAP_SNAPSHOT_IDS).get(composite(case.task_id, snapshot_id))
    return None if known is None else find(case, known["version"])


def data_of(snapshot: AvroValue) -> Json:
    data: Json = orjson.loads(snapshot["data_json"])
    return data


def shown(snapshot: AvroValue) -> Json:
    """The StateSnapshot (spec 2.2) of a row."""
    return {
        "id": snapshot["id"],
        "task_id": snapshot["task_id"],
        "version": snapshot["version"],
        "data": data_of(snapshot),
        "checkpoint": snapshot["checkpoint"],
        "created_at": formats.iso_us(snapshot["created_at"]),
    }


def _key(case: Case, version: int) -> str:
    return composite(case.task_id, str(version))


def _index(case: Case, version: int, snapshot_id: str) -> None:
    before = _ranges(case)
    if versions.contains(before, version):
        _forget_id(case, version)
    else:
        _keep_ranges(case, versions.added(before, version))
    ids = case.scene.work.rows(ASAP_SNAPSHOT_IDS)
    ids.put(composite(case.task_id, snapshot_id), {"version": version})


def _forget_id(case: Case, version: int) -> None:
    """An id stands for the version that was saved with it last."""
    snapshot = find(case, version)
    assert snapshot is not None, "a version that exists has its snapshot"
    ids = case.scene.work.rows(ASAP_SNAPSHOT_IDS)
    key = composite(case.task_id, snapshot["id"])
    known = ids.get(key)
    if known is not None and known["version"] == version:
        ids.delete(key)


def _ranges(case: Case) -> Ranges:
    row = case.scene.work.rows(ASAP_VERSIONS).get(composite(case.task_id))
    return [] if row is None else row["ranges"]


def _keep_ranges(case: Case, ranges: Ranges) -> None:
    rows = case.scene.work.rows(ASAP_VERSIONS)
    if ranges:
        rows.put(composite(case.task_id), {"ranges": ranges})
    else:
        rows.delete(composite(case.task_id))
