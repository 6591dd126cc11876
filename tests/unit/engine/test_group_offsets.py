"""Telling the group where the tasks stand is a courtesy: refused, it must change nothing."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import GroupCoordinatorNotAvailableError

from streams.engine.faust_host import ConsumerThread
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
