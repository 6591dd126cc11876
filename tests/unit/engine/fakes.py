"""A task that does as it is told, for what drives tasks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Mapping

from streams.engine.batch import Batch, BatchLimit
from streams.engine.records import TopicPartition
from streams.errors import RegistryUnavailable

TP = TopicPartition("toy.in", 0)


class FakeIds:
    """A schema registry that is away until `back` is set.

    asked: what is to be asked of it.  forgetful: also once it was asked.
    """

    def __init__(self) -> None:
        self.asked = {7}
        self.forgetful = False
        self.back = threading.Event()
        self.tried = threading.Event()

    def resolve(self, ids: set[int]) -> None:
        assert ids == {7}
        self.tried.set()
        if not self.back.is_set():
            raise RegistryUnavailable("no registry answers")
        if not self.forgetful:
            self.asked = set()


class FakeTask:
    """todo: cycles that wait to be decided.  open_error, commit_errors: what to raise, once each.

    gate: when set, a commit waits for it.
    """

    restored = 0
    due_in_s: float | None = None
    needs_end_offsets = False

    def __init__(self, partition: int = 0, todo: int = 0) -> None:
        self.partition = partition
        self.batch_limit = BatchLimit()
        self.tps = {TP: None}
        self.stopping = threading.Event()
        self.todo = todo
        self.calls: list[str] = []
        self.open_errors: list[Exception] = []
        self.commit_errors: list[Exception] = []
        self.gate: threading.Event | None = None
        self.committing = threading.Event()
        self.opening: threading.Event | None = None
        self.due: list[int] = []
        self.inflight = 0
        self.fresh = True
        self.patience_s = 0.0
        self.limit: int | None = None
        self.ids: FakeIds | None = None
        self.after_settling: Callable[[], None] = lambda: None

    def open(self) -> None:
        self.calls.append("open")
        if self.opening is not None:
            assert self.opening.wait(60)
        if self.open_errors:
            raise self.open_errors.pop(0)

    def resume(self) -> dict[TopicPartition, int]:
        self.calls.append("resume")
        return {TP: 7}

    def processors_to_catch_up(self) -> dict[object, int]:
        return {} if self.fresh else {"reader": 1}

    def catch_up(self, processors: Collection[object]) -> None:
        assert list(processors) == ["reader"]
        self.calls.append("freshen")

    def mark_caught_up(self, counts: dict[object, int]) -> None:
        assert counts == {"reader": 1}
        self.fresh = True

    def unresolved(self) -> set[int]:
        return set() if self.ids is None else self.ids.asked

    def linger_s(self) -> float:
        return self.patience_s if self.todo else 0.0

    def next_batch(self) -> Batch | None:
        if not self.todo:
            return None
        self.todo -= 1
        self.calls.append("decide")
        return Batch()

    def timers_due(self) -> int | None:
        return self.limit

    def fire(self, limit_ms: int) -> Batch | None:
        assert self.inflight == 0, "timers fire with nothing in flight"
        if not self.due:
            self.limit = None
            return None
        self.due.pop()
        self.calls.append("fire")
        return Batch()

    def submit(self, cycle: Batch) -> None:
        assert self.inflight == 0, "one commit at a time"
        self.inflight += 1
        self.calls.append("submit")

    def commit(self, cycle: Batch) -> None:
        self.committing.set()
        if self.gate is not None:
            assert self.gate.wait(60)
        if self.commit_errors:
            raise self.commit_errors.pop(0)
        self.calls.append("commit")

    def mark_committed(self) -> None:
        self.inflight -= 1
        self.calls.append("settled")
        self.after_settling()

    def read_end_offsets(self) -> None:
        self.calls.append("ask")

    def close(self) -> None:
        self.calls.append("close")


async def seek(positions: Mapping[TopicPartition, int]) -> None:
    assert positions == {TP: 7}


async def until(condition: Callable[[], object]) -> None:
    """Let others run until the condition holds."""
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.001)
