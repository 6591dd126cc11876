"""The snapshot store in memory (ASAP guide, 4.4)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from streams import InMemorySnapshotStore
from tests.examples import example_count
from tests.unit.asap.snapshot_contract import SnapshotContract, snapshot

TASKS = ("t-1", "t-2")
THREADS, EACH = 8, 250


class TestInMemory(SnapshotContract):
    @pytest.fixture
    def store(self) -> InMemorySnapshotStore:
        return InMemorySnapshotStore()

    @pytest.fixture
    def tasks(self) -> Iterator[str]:
        return iter(TASKS)


def test_versions_have_no_gap_and_no_double_whatever_runs_at_once() -> None:
    store = InMemorySnapshotStore()

    def work(number: int) -> list[int]:
        return [store.create_snapshot("t", {"by": number}).version for _ in range(EACH)]

    with ThreadPoolExecutor(THREADS) as pool:
        versions = [version for each in pool.map(work, range(THREADS)) for version in each]
    assert sorted(versions) == store.list_versions("t") == list(range(1, THREADS * EACH + 1))


@settings(max_examples=example_count(60), stateful_step_count=40, deadline=None)
class Versions(RuleBasedStateMachine):
    """Against a model: a dict of what is there, and the highest version there ever was."""

    def __init__(self) -> None:
        super().__init__()
        self.store = InMemorySnapshotStore()
        self.there: dict[str, dict[int, str]] = {task: {} for task in TASKS}
        self.marks = dict.fromkeys(TASKS, 0)

    @rule(task=st.sampled_from(TASKS))
    def create(self, task: str) -> None:
        made = self.store.create_snapshot(task, {})
        self.marks[task] += 1
        assert made.version == self.marks[task]
        self.there[task][made.version] = made.id

    @rule(task=st.sampled_from(TASKS), version=st.integers(1, 12))
    def save(self, task: str, version: int) -> None:
        saved = snapshot(task, version)
        self.store.save(saved)
        self.there[task][version] = saved.id
        self.marks[task] = max(self.marks[task], version)

    @rule(task=st.sampled_from(TASKS), version=st.integers(1, 12) | st.none())
    def delete(self, task: str, version: int | None) -> None:
        there = self.there[task]
        expected = bool(there) if version is None else version in there
        assert self.store.delete(task, version) is expected
        if version is None:
            there.clear()
        else:
            there.pop(version, None)

    @invariant()
    def the_same_is_there(self) -> None:
        for task, there in self.there.items():
            assert self.store.list_versions(task) == sorted(there)
            latest = self.store.get(task)
            assert (latest.version if latest else 0) == max(there, default=0)
            for version, id in there.items():
                stored = self.store.get(task, version)
                assert stored is not None
                assert stored.id == id


TestVersions = Versions.TestCase
