"""A participant asks for a state of its task, or goes back to one: the service answers.

Going back never rewrites history: the old data is saved anew.

Source: ASAP spec, 5.4.
"""

from __future__ import annotations

from typing import Any

from schemas.asap import restored_version
from streams.processing.graph import Edge
from streams.protocols.asap.processor import answers, event_sourced, lineage, snapshots, verdicts
from streams.protocols.asap.processor.case import Case
from streams.protocols.asap.processor.inbound import Command
from streams.protocols.asap.processor.snapshots import New
from streams.protocols.asap.processor.updates import ended
from streams.protocols.asap.processor.verdicts import Outcome

Json = dict[str, Any]


def query(command: Command, case: Case) -> Outcome:
    snapshot = _state(case, command.payload["version"])
    answers.state(command, case, snapshot)
    found = None if snapshot is None else snapshot["version"]
    return verdicts.accept("state_read", case=case, deliver=False, version=found)


def restore(command: Command, case: Case) -> Outcome:
    snapshot_id = command.payload["snapshot_id"]
    refused = ended(case, "StateRestore")
    if refused is not None:
        return refused
    old = _old(case, snapshot_id)
    if old is None:
        detail = f"snapshot_id: the task has no snapshot {snapshot_id}."
        return verdicts.refuse("snapshot_not_found", detail, case=case, snapshot_id=snapshot_id)
    version = snapshots.save(case, New(old["data"], restored_from=old["version"]))
    case.touch()
    source = lineage.snapshot(case.task_id, version)
    target = lineage.snapshot(case.task_id, old["version"])
    case.scene.draw(Edge(source, "restores", target))
    saved = snapshots.find(case, version)
    assert saved is not None, "it was saved just now"
    snapshot = snapshots.shown(saved)
    answers.state(command, case, snapshot)
    if command.sender == case.requester:
        answers.restored(command, case, snapshot)
    return verdicts.accept("state_restored", case=case, deliver=False, restored_from=old["version"])


def _state(case: Case, version: int | None) -> Json | None:
    """The state of a version as a StateSnapshot; of None, the latest."""
    if case.event_sourced:
        last: int = case.row["sequence"]
        n = last if version is None else version
        return event_sourced.state_at(case, n) if 0 <= n <= last else None
    row = snapshots.find(case, case.row["snapshot_version"] if version is None else version)
    return None if row is None else snapshots.shown(row)


def _old(case: Case, snapshot_id: str) -> Json | None:
    if case.event_sourced:
        version = restored_version(case.task_id, snapshot_id)
        return None if version is None or version < 1 else _state(case, version)
    row = snapshots.find_id(case, snapshot_id)
    return None if row is None else snapshots.shown(row)
