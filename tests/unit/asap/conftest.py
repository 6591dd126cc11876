from __future__ import annotations

import asyncio

import pytest


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What was slept, without the sleep."""
    delays: list[float] = []
    before = asyncio.sleep

    async def sleep(seconds: float, result: object = None) -> None:
        if seconds:
            delays.append(seconds)
        await before(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return delays
