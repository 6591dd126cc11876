"""What every snapshot store keeps to (ASAP guide, 4.4)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Protocol

import pytest

from schemas.asap import ASAPError, StateSnapshot, generate_id
from streams import SnapshotStore


class Store(SnapshotStore, Protocol):
    """With what both stores add."""

    def create_snapshot(
        self, task_id: str, data: dict[str, Any], checkpoint: bool = False
    ) -> StateSnapshot: ...
    def get_by_id(self, task_id: str, snapshot_id: str) -> StateSnapshot | None: ...
    def latest_checkpoint(self, task_id: str) -> StateSnapshot | None: ...
    def restore(self, task_id: str, snapshot_id: str) -> StateSnapshot: ...


def snapshot(task_id: str, version: int, **more: Any) -> StateSnapshot:
    members = {
        "id": generate_id(),
        "task_id": task_id,
        "version": version,
        "data": {"page": version},
        "created_at": datetime(2026, 11, 21, 10, tzinfo=UTC),
    }
    return StateSnapshot.model_validate({**members, **more})


class SnapshotContract:
    """Tests over the fixtures `store`, and `tasks`: ids of tasks that may have snapshots."""

    @pytest.fixture
    def task(self, tasks: Iterator[str]) -> str:
        return next(tasks)

    def test_it_is_a_store(self, store: Store) -> None:
        assert isinstance(store, SnapshotStore)

    def test_nothing_is_there_at_first(self, store: Store, task: str) -> None:
        for id in (task, "nobody's"):
            assert store.get(id) is None
            assert store.get(id, 1) is None
            assert store.list_versions(id) == []
            assert store.delete(id) is False
            assert store.delete(id, 1) is False
            assert store.get_by_id(id, "x") is None
            assert store.latest_checkpoint(id) is None

    def test_what_was_saved_is_there(self, store: Store, task: str) -> None:
        first = snapshot(task, 1, checkpoint=True, data={"n": [1, {"x": None}], "é": "\N{SNOWMAN}"})
        store.save(first)
        assert store.get(task) == store.get(task, 1) == first
        assert store.get_by_id(task, first.id) == first
        assert store.get(task, 2) is None

    def test_versions_come_in_any_order(self, store: Store, task: str) -> None:
        for version in (3, 1, 7, 2):
            store.save(snapshot(task, version))
        assert store.list_versions(task) == [1, 2, 3, 7]
        latest = store.get(task)
        assert latest is not None
        assert latest.version == 7
        assert store.create_snapshot(task, {}).version == 8

    def test_a_version_may_be_saved_again(self, store: Store, task: str) -> None:
        store.save(snapshot(task, 2, data={"n": 1}))
        again = snapshot(task, 2, data={"n": 2})
        store.save(again)
        assert store.get(task, 2) == again
        assert store.list_versions(task) == [2]

    def test_versions_count_up(self, store: Store, task: str) -> None:
        made = [store.create_snapshot(task, {"n": n}) for n in range(3)]
        assert [each.version for each in made] == [1, 2, 3]
        assert [store.get(task, n + 1) for n in range(3)] == made
        assert len({each.id for each in made}) == 3
        assert not any(each.checkpoint for each in made)
        assert all(each.created_at.tzinfo is not None for each in made)

    def test_the_example_of_the_spec(self, store: Store, task: str) -> None:
        for version in (1, 2, 6):
            store.save(snapshot(task, version))
        assert store.delete(task, 6) is True
        latest = store.get(task)
        assert latest is not None
        assert latest.version == 2
        assert store.create_snapshot(task, {}).version == 7

    def test_versions_are_never_reused(self, store: Store, task: str) -> None:
        store.create_snapshot(task, {})
        store.create_snapshot(task, {})
        assert store.delete(task) is True
        assert store.delete(task) is False
        assert store.list_versions(task) == []
        assert store.create_snapshot(task, {}).version == 3

    def test_a_deleted_version_is_gone(self, store: Store, task: str) -> None:
        made = [store.create_snapshot(task, {"n": n}) for n in range(3)]
        assert store.delete(task, 2) is True
        assert store.delete(task, 2) is False
        assert store.list_versions(task) == [1, 3]
        assert store.get(task, 2) is None
        assert store.get_by_id(task, made[1].id) is None

    def test_checkpoints(self, store: Store, task: str) -> None:
        store.create_snapshot(task, {"n": 1}, checkpoint=True)
        second = store.create_snapshot(task, {"n": 2}, checkpoint=True)
        store.create_snapshot(task, {"n": 3})
        assert store.latest_checkpoint(task) == second
        store.delete(task, 2)
        stored = store.latest_checkpoint(task)
        assert stored is not None
        assert (stored.version, stored.data) == (1, {"n": 1})

    def test_a_restore_is_a_new_version(self, store: Store, task: str) -> None:
        first = store.create_snapshot(task, {"n": 1}, checkpoint=True)
        store.create_snapshot(task, {"n": 2})
        back = store.restore(task, first.id)
        assert (back.version, back.data, back.checkpoint) == (3, {"n": 1}, False)
        assert back.id != first.id
        assert store.get(task) == back
        assert store.list_versions(task) == [1, 2, 3]

    def test_what_is_not_there_is_not_restored(self, store: Store, task: str) -> None:
        store.create_snapshot(task, {"n": 1})
        for id in (task, "nobody's"):
            with pytest.raises(ASAPError) as caught:
                store.restore(id, "another")
            assert caught.value.code == "asap:task/snapshot_not_found"
        assert store.list_versions(task) == [1]

    def test_tasks_are_apart(self, store: Store, tasks: Iterator[str]) -> None:
        first, second = next(tasks), next(tasks)
        one = store.create_snapshot(first, {"n": 1})
        two = store.create_snapshot(second, {"n": 2})
        assert (one.version, two.version) == (1, 1)
        assert store.get_by_id(first, two.id) is None
        store.delete(first)
        assert store.get(second) == two

    def test_nobody_changes_what_is_kept(self, store: Store, task: str) -> None:
        data: dict[str, Any] = {"pages": [1]}
        made = store.create_snapshot(task, data)
        data["pages"].append(2)
        made.data["pages"].append(3)
        stored = store.get(task)
        assert stored is not None
        assert stored.data == {"pages": [1]}
        stored.data["pages"].append(4)
        again = store.get(task)
        assert again is not None
        assert again.data == {"pages": [1]}
