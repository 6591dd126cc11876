"""Tests of how often metadata is asked for, and of when a topic counts as gone."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

from streams.engine.faust_host import metadata
from streams.engine.faust_host.metadata import GONE_S, MissingTopics, PacedUpdates


class Updating:
    """Counts updates; pauses take no time."""

    def __init__(self) -> None:
        self.count = 0
        self.pauses: list[float] = []
        self.updates = PacedUpdates(self.update, self.pause)

    async def update(self) -> int:
        self.count += 1
        return self.count

    async def pause(self, seconds: float) -> None:
        self.pauses.append(round(seconds, 3))


def test_updates_that_follow_each_other_come_after_growing_pauses() -> None:
    async def work() -> list[float]:
        updating = Updating()
        for n in range(1, 8):
            assert await updating.updates.request() == n
        return updating.pauses

    assert asyncio.run(work()) == [0, 0.1, 0.2, 0.4, 0.8, 1, 1]


def test_all_who_ask_meanwhile_share_an_update() -> None:
    async def work() -> int:
        updating = Updating()
        await asyncio.gather(*(updating.updates.request() for _ in range(100)))
        return updating.count

    assert asyncio.run(work()) == 1


def test_after_a_calm_the_next_update_is_made_at_once() -> None:
    async def work() -> list[float]:
        updating = Updating()
        for _ in range(3):
            await updating.updates.request()
        updating.updates._ended_at -= metadata._CALM_S
        await updating.updates.request()
        return updating.pauses

    assert asyncio.run(work()) == [0, 0.1, 0.2, 0]


def test_an_update_that_is_not_needed_any_more_is_cancelled() -> None:
    async def work() -> bool:
        updates = PacedUpdates(asyncio.Event().wait)
        pending = updates.request()
        await asyncio.sleep(0)
        updates.close()
        await asyncio.wait([pending])
        return pending.cancelled()

    assert asyncio.run(work())


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_topic_is_gone_once_all_updates_of_ten_seconds_have_lacked_it() -> None:
    clock, known = Clock(), {"a": {0}, "b": {0}}
    missing = MissingTopics(lambda: ("a", "b"), clock)
    cluster = SimpleNamespace(partitions_for_topic=known.get)

    def note_after(seconds: float) -> list[str]:
        clock.now += seconds
        missing.note(cluster)
        return missing.gone()

    assert note_after(0) == []
    partitions = known.pop("b")
    assert note_after(1) == []
    assert note_after(GONE_S - 1) == []
    known["b"] = partitions
    assert note_after(1) == []
    del known["b"]
    assert note_after(1) == []
    clock.now += 2 * GONE_S  # without an update nothing is known
    assert missing.gone() == []
    assert note_after(0) == ["b"]
