"""Telling the group where the tasks stand is a courtesy: refused, it must change nothing."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import GroupCoordinatorNotAvailableError

from streams.engine.faust_host import consumer as consumer_module
from streams.engine.faust_host.consumer import Consumer
from streams.engine.faust_host.thread import ConsumerThread
from streams.engine.records import TopicPartition

ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS = 22, 27
OFFSETS = {TopicPartition("a", 0): 7, TopicPartition("a", 1): 8, TopicPartition("b", 0): 9}


class Coordinator:
    """Only what may be touched: aiokafka's own commit would reset more when it is refused."""

    group_id, generation, member_id = "g", 3, "m"

    def __init__(self, answer: int | Exception) -> None:
        self._answer = answer
        self.asked: list[Any] = []

    async def _send_req(self, request: Any) -> Any:
        self.asked.append(request)
        if isinstance(self._answer, Exception):
            raise self._answer
        return SimpleNamespace(topics=[("a", [(0, 0), (1, self._answer)]), ("b", [(0, 0)])])


def tell(coordinator: Coordinator) -> bool:
    consumer = SimpleNamespace(_coordinator=coordinator)
    thread: Any = SimpleNamespace(_ensure_consumer=lambda: consumer)
    return asyncio.run(ConsumerThread.tell_group(thread, OFFSETS))


def test_offsets_are_told_as_a_member_of_the_generation() -> None:
    coordinator = Coordinator(0)
    assert tell(coordinator)
    (request,) = coordinator.asked
    assert (request._consumer_group, request._consumer_group_generation_id) == ("g", 3)
    assert request._consumer_id == "m"
    assert request._topics == [("a", [(0, 7, ""), (1, 8, "")]), ("b", [(0, 9, "")])]


@pytest.mark.parametrize(
    "answer", [ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS, GroupCoordinatorNotAvailableError()]
)
def test_a_refusal_is_told_and_nothing_else_happens(answer: int | Exception) -> None:
    coordinator = Coordinator(answer)
    assert not tell(coordinator)
    assert len(coordinator.asked) == 1


def test_who_is_no_member_says_nothing() -> None:
    coordinator = Coordinator(0)
    coordinator.generation = -1
    assert not tell(coordinator)
    assert coordinator.asked == []


class EndedThread:
    """What a crash leaves of the consumer's thread: calls are queued, and nobody takes them."""

    tell_group = ConsumerThread.tell_group

    def __init__(self) -> None:
        self.calls = 0

    async def call_thread(self, *call: Any) -> None:
        self.calls += 1
        await asyncio.Future()


@pytest.mark.parametrize(("crashed", "calls"), [(True, 0), (False, 1)])
def test_a_thread_that_has_ended_does_not_keep_a_worker_from_ending(
    monkeypatch: pytest.MonkeyPatch, crashed: bool, calls: int
) -> None:
    monkeypatch.setattr(consumer_module, "_LONGEST_TELL_S", 0.01)
    thread = EndedThread()
    runner = SimpleNamespace(task=SimpleNamespace(committed_offsets=lambda: OFFSETS))
    app = SimpleNamespace(task_set=SimpleNamespace(runners={0: runner}))
    consumer: Any = SimpleNamespace(app=app, _thread=thread, _told={}, crashed=crashed)
    asyncio.run(asyncio.wait_for(Consumer._tell_group(consumer), 60))
    assert (thread.calls, consumer._told) == (calls, {})
