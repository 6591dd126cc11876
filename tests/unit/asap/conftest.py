from __future__ import annotations

import asyncio

import pytest


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What was slept, without the sleep."""
    found: list[float] = []
    before = asyncio.sleep

    async def sleep(seconds: float, result: object = None) -> None:
        if seconds:
            found.append(seconds)
        await before(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return found
