"""The state of a task: the changes by envelopes, and reads and restores by participants.

An envelope saves a state, patches it or deletes versions of it.  The service answers a read or a
restore.  A restore never rewrites history: it saves the old data as a new version.

Source: ASAP guide, 2.6, 4.5 and 5.4.
"""

from __future__ import annotations

from typing import Any

from schemas import canonical_json
from schemas.asap import Change, restored_version
from streams.processing.graph import LineageEdge
from streams.protocols.asap.processor import snapshots, verdicts
from streams.protocols.asap.processor.command import Command
from streams.protocols.asap.processor.decision import snapshot_node
from streams.protocols.asap.processor.snapshots import NewSnapshot
from streams.protocols.asap.processor.task import TaskAggregate, send_restored, send_state
from streams.protocols.asap.processor.verdicts import Outcome

Json = dict[str, Any]


def mode_refusal(change: Change | None, task: TaskAggregate) -> Outcome | None:
    """Return a refusal if the task's state mode does not allow this change."""
    if change is None:
        return None
    if not task.event_sourced:
        used = ["patch"] if change.kind == "patch" else []
    else:
        named = ("version", "id", "created_at")
        used = ["delete"] if change.kind == "delete" else []
        used += [name for name in named if getattr(change, name) is not None]
    if not used:
        return None
    mode = task.row["state_mode"]
    detail = f"dev.headrace.snapshot: {used[0]} is not for a task whose state mode is {mode}."
    return verdicts.refuse("state_mode_conflict", detail, task=task, state_mode=mode, used=used)


def apply_change(change: Change | None, task: TaskAggregate, envelope_id: str) -> dict[str, Any]:
    """Apply a change and return its evidence."""
    if change is None:
        return {}
    if change.kind == "delete":
        return {"deleted": snapshots.delete(task, change.version)}
    task.checkpoint = change.checkpoint
    if change.kind == "patch":
        task.patch_json = canonical_json(change.data).decode()
        return {}
    new = NewSnapshot(change.data, change.checkpoint, change.version, change.id, change.created_at)
    version = snapshots.save(task, new)
    snapshots.emit_saved_edges(task, version, envelope_id)
    return {}


def terminal_refusal(task: TaskAggregate, what: str) -> Outcome | None:
    """Return a refusal if the task has ended.  what: the late payload, for the message."""
    if not task.terminal:
        return None
    detail = f"task_id: the task is {task.status}, and takes no {what.removeprefix('a ')}."
    return verdicts.refuse("task_already_terminal", detail, task=task, status=task.status)


def handle_query(command: Command, task: TaskAggregate) -> Outcome:
    """Send the state of a version to the sender of a StateQuery."""
    snapshot = _state_at_version(task, command.payload["version"])
    send_state(command, task, snapshot)
    version = None if snapshot is None else snapshot["version"]
    return verdicts.accept("state_read", task=task, deliver=False, version=version)


def handle_restore(command: Command, task: TaskAggregate) -> Outcome:
    """Save an earlier state as a new version, for a StateRestore."""
    snapshot_id = command.payload["snapshot_id"]
    refusal = terminal_refusal(task, "StateRestore")
    if refusal is not None:
        return refusal
    old = _snapshot_of(task, snapshot_id)
    if old is None:
        detail = f"snapshot_id: the task has no snapshot {snapshot_id}."
        return verdicts.refuse("snapshot_not_found", detail, task=task, snapshot_id=snapshot_id)
    version = snapshots.save(task, NewSnapshot(old["data"], restored_from=old["version"]))
    task.touch()
    source = snapshot_node(task.task_id, version)
    target = snapshot_node(task.task_id, old["version"])
    task.ctx.emit_edge(LineageEdge(source, "restores", target))
    saved = snapshots.find(task, version)
    assert saved is not None, "it was saved just now"
    snapshot = snapshots.state_snapshot(saved)
    send_state(command, task, snapshot)
    if command.sender == task.requester:
        send_restored(command, task, snapshot)
    return verdicts.accept("state_restored", task=task, deliver=False, restored_from=old["version"])


def _state_at_version(task: TaskAggregate, version: int | None) -> Json | None:
    """Return the state of a version, by default the latest, as a StateSnapshot."""
    if task.event_sourced:
        last: int = task.row["sequence"]
        n = last if version is None else version
        return snapshots.state_at(task, n) if 0 <= n <= last else None
    row = snapshots.find(task, task.row["snapshot_version"] if version is None else version)
    return None if row is None else snapshots.state_snapshot(row)


def _snapshot_of(task: TaskAggregate, snapshot_id: str) -> Json | None:
    if task.event_sourced:
        version = restored_version(task.task_id, snapshot_id)
        return None if version is None or version < 1 else _state_at_version(task, version)
    row = snapshots.find_id(task, snapshot_id)
    return None if row is None else snapshots.state_snapshot(row)
