"""Tests of how long a client may take nothing."""

from __future__ import annotations

import asyncio

import pytest

from streams.doors.mcp.patience import Gone, Patience


async def take_nothing() -> None:
    await asyncio.Event().wait()


async def take_at_once() -> None:
    return


def test_who_takes_nothing_is_gone_and_the_task_goes_on() -> None:
    async def work() -> str:
        patience = Patience(0.01)
        await patience.send(take_at_once())
        with pytest.raises(Gone):
            await patience.send(take_nothing())
        await asyncio.sleep(0)  # which a cancellation would end
        with pytest.raises(Gone):
            await patience.send(take_nothing())
        return "on"

    assert asyncio.run(work()) == "on"


def test_sends_that_follow_each_other_share_a_timer() -> None:
    async def work() -> None:
        patience = Patience(0.02)
        for _ in range(1000):
            await patience.send(take_at_once())
        timer = patience._timer
        assert timer is not None
        while patience._timer is timer:  # it has looked, and nothing was being sent
            await asyncio.sleep(0.001)
        assert patience._timer is None

    asyncio.run(work())


def test_who_is_cancelled_by_another_is_cancelled() -> None:
    async def work() -> None:
        sending = asyncio.create_task(Patience(60).send(take_nothing()))
        await asyncio.sleep(0)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending

    asyncio.run(work())
