"""Snapshots of tasks: the interface of a store, and a store in memory (ASAP guide, 4.4)."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

from schemas.asap import ASAPError, StateSnapshot, generate_id
from topology import next_version

SNAPSHOT_NOT_FOUND = "asap:task/snapshot_not_found"


@runtime_checkable
class SnapshotStore(Protocol):
    """A store of the versions of tasks' states; an absent one is None, empty or False, no error.

    Version numbers are never reused, even after all versions were deleted.
    """

    def save(self, snapshot: StateSnapshot) -> None:
        """Store a snapshot under its task and version, replacing any other; in any order."""

    def get(self, task_id: str, version: int | None = None) -> StateSnapshot | None:
        """Return a version of the state, by default the highest."""

    def list_versions(self, task_id: str) -> list[int]:
        """Return the versions of a task, ascending."""

    def delete(self, task_id: str, version: int | None = None) -> bool:
        """Delete one version, by default all; return whether there was any."""


class InMemorySnapshotStore:
    """A store in memory, for tests and for agents without persistent state.  Thread-safe.

    Snapshots are copied in and out, so callers cannot change the stored ones.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._tasks: defaultdict[str, dict[int, StateSnapshot]] = defaultdict(dict)
        self._marks: defaultdict[str, int] = defaultdict(int)

    def save(self, snapshot: StateSnapshot) -> None:
        """Store a snapshot; raise the highest version of the task at least to its version."""
        stored = snapshot.model_copy(deep=True)
        with self._lock:
            self._tasks[stored.task_id][stored.version] = stored
            self._marks[stored.task_id] = max(self._marks[stored.task_id], stored.version)

    def get(self, task_id: str, version: int | None = None) -> StateSnapshot | None:
        with self._lock:
            versions = self._of(task_id)
            number = max(versions, default=0) if version is None else version
            return _copy(versions.get(number))

    def list_versions(self, task_id: str) -> list[int]:
        with self._lock:
            return sorted(self._of(task_id))

    def delete(self, task_id: str, version: int | None = None) -> bool:
        with self._lock:
            versions = self._of(task_id)
            if version is not None:
                return versions.pop(version, None) is not None
            return bool(self._tasks.pop(task_id, None))

    def create_snapshot(
        self, task_id: str, data: dict[str, Any], checkpoint: bool = False
    ) -> StateSnapshot:
        """Store the data as the next version, one above all that ever existed."""
        with self._lock:
            snapshot = StateSnapshot(
                id=generate_id(),
                task_id=task_id,
                version=next_version((), self._marks[task_id]),
                data=data,
                checkpoint=checkpoint,
                created_at=datetime.now(UTC),
            )
            self.save(snapshot)
            return snapshot

    def get_by_id(self, task_id: str, snapshot_id: str) -> StateSnapshot | None:
        """Return the snapshot with this id; of several the highest version."""
        return self._highest(task_id, lambda each: each.id == snapshot_id)

    def latest_checkpoint(self, task_id: str) -> StateSnapshot | None:
        return self._highest(task_id, lambda each: each.checkpoint)

    def restore(self, task_id: str, snapshot_id: str) -> StateSnapshot:
        """Store the data of an old version as a new one.

        Raises ASAPError `asap:task/snapshot_not_found`.
        """
        with self._lock:
            old = self.get_by_id(task_id, snapshot_id)
            if old is None:
                raise snapshot_not_found(task_id, snapshot_id)
            return self.create_snapshot(task_id, old.data)

    def _of(self, task_id: str) -> dict[int, StateSnapshot]:
        return self._tasks.get(task_id, {})

    def _highest(self, task_id: str, fits: Callable[[StateSnapshot], bool]) -> StateSnapshot | None:
        with self._lock:
            matching = [each for each in self._of(task_id).values() if fits(each)]
            return _copy(max(matching, key=lambda each: each.version, default=None))


def _copy(snapshot: StateSnapshot | None) -> StateSnapshot | None:
    return None if snapshot is None else snapshot.model_copy(deep=True)


def snapshot_not_found(task_id: str, snapshot_id: str) -> ASAPError:
    details = {"task_id": task_id, "snapshot_id": snapshot_id}
    return ASAPError(SNAPSHOT_NOT_FOUND, f"Snapshot not found: {snapshot_id}", details)
