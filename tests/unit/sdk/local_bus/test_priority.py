"""Priority orders the delivery of waiting tasks (SAP guide, 5.2, Dispatch)."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.sap import SapTask
from tests.unit.sdk.local_bus.support import CAPABILITY, BusBench, id_of, open_bus, task

ORDER = ("urgent", "high", "normal", "low")
PRIORITIES = (None, "low", "normal", "high", "urgent")


def note(taken: list[str], task: SapTask) -> int:
    taken.append(task.taskId)
    return 1


def send(at: BusBench, priorities: list[str | None]) -> list[str]:
    """Dispatch tasks and return their ids by priority, then by log order."""
    for number, priority in enumerate(priorities, 1):
        at.bus.dispatch(task(number, telemetry={"priority": priority}))
    ranks = [ORDER.index(priority or "normal") for priority in priorities]
    numbers = sorted(range(len(priorities)), key=lambda index: (ranks[index], index))
    return [id_of(number + 1) for number in numbers]


@given(st.lists(st.sampled_from(PRIORITIES), max_size=6))
def test_the_most_urgent_goes_first_then_the_first_on_the_log(
    priorities: list[str | None],
) -> None:
    taken: list[str] = []
    with open_bus(deliver="manual") as at:
        at.bus.register("a", [CAPABILITY], lambda task: note(taken, task))
        expected = send(at, priorities)
        assert at.bus.deliver_pending() == len(priorities)
    assert taken == expected


def test_who_is_away_keeps_nobody_from_going_first() -> None:
    taken: list[str] = []
    with open_bus(deliver="manual") as at:
        at.bus.register("away", [CAPABILITY], lambda task: 1)
        at.bus.register("a", [CAPABILITY], lambda task: note(taken, task))
        target = {"capability": CAPABILITY, "agentId": "away"}
        at.bus.dispatch(task(1, target=target, telemetry={"priority": "urgent"}))
        at.bus.dispatch(task(2, target={**target, "agentId": "a"}))
        at.bus.set_available("away", False)
        assert at.bus.deliver_pending() == 1
    assert taken == [id_of(2)]


def test_a_cancelled_task_waits_in_its_place_again() -> None:
    taken: list[str] = []

    async def handle(task: SapTask) -> int:
        taken.append(task.taskId)
        if len(taken) == 1:
            raise asyncio.CancelledError
        return 1

    async def run(at: BusBench) -> None:
        with pytest.raises(asyncio.CancelledError):
            await at.bus.deliver_pending_async()
        assert await at.bus.deliver_pending_async() == 3

    with open_bus(deliver="manual") as at:
        at.bus.register("a", [CAPABILITY], handle)
        send(at, ["normal", "urgent", "urgent"])
        asyncio.run(run(at))
    assert taken == [id_of(2), id_of(2), id_of(3), id_of(1)]
