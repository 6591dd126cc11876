"""Snapshots of tasks: what a store is, and one in memory (asap spec 4.4)."""

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
    """Versions of the state of tasks.  What is not there is None, empty or False, never an error.

    Versions are never reused: what is deleted, even all of it, leaves its numbers taken.
    """

    def save(self, snapshot: StateSnapshot) -> None:
        """Under its task and version, in place of what was there; in any order."""

    def get(self, task_id: str, version: int | None = None) -> StateSnapshot | None:
        """version: None for the highest that there is."""

    def list_versions(self, task_id: str) -> list[int]:
        """Ascending."""

    def delete(self, task_id: str, version: int | None = None) -> bool:
        """One version, or all of them; whether there was any."""


class InMemorySnapshotStore:
    """For tests and for agents that need not outlive their process.  Thread-safe.

    Snapshots go in and come out as copies: nobody changes what is kept.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._tasks: defaultdict[str, dict[int, StateSnapshot]] = defaultdict(dict)
        self._marks: defaultdict[str, int] = defaultdict(int)

    def save(self, snapshot: StateSnapshot) -> None:
        """As `SnapshotStore.save`; raises the task's mark to its version at least."""
        kept = snapshot.model_copy(deep=True)
        with self._lock:
            self._tasks[kept.task_id][kept.version] = kept
            self._marks[kept.task_id] = max(self._marks[kept.task_id], kept.version)

    def get(self, task_id: str, version: int | None = None) -> StateSnapshot | None:
        with self._lock:
            versions = self._of(task_id)
            wanted = max(versions, default=0) if version is None else version
            return _copy(versions.get(wanted))

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
        """The next version, one above all that there ever were."""
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
        """The one with this id; of several the highest version."""
        return self._highest(task_id, lambda each: each.id == snapshot_id)

    def latest_checkpoint(self, task_id: str) -> StateSnapshot | None:
        return self._highest(task_id, lambda each: each.checkpoint)

    def restore(self, task_id: str, snapshot_id: str) -> StateSnapshot:
        """A new version with the data of an old one.

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
            found = [each for each in self._of(task_id).values() if fits(each)]
            return _copy(max(found, key=lambda each: each.version, default=None))


def _copy(snapshot: StateSnapshot | None) -> StateSnapshot | None:
    return None if snapshot is None else snapshot.model_copy(deep=True)


def snapshot_not_found(task_id: str, snapshot_id: str) -> ASAPError:
    details = {"task_id": task_id, "snapshot_id": snapshot_id}
    return ASAPError(SNAPSHOT_NOT_FOUND, f"Snapshot not found: {snapshot_id}", details)
