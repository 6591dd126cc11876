"""Tests of waiting for the view."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from streams.errors import ViewNotReady
from streams.gateway import agent
from streams.gateway.await_view import await_view
from streams.gateway.view_protocol import ViewProtocol
from streams.view_store.live import LiveView
from streams.views.status import ViewStatus


class Starting:
    """A view that is ready when it was asked so often."""

    def __init__(self, ready_at: float) -> None:
        self.asked, self._ready_at = 0, ready_at

    def status(self) -> ViewStatus:
        self.asked += 1
        state = "ready" if self.asked >= self._ready_at else "catching_up"
        return ViewStatus(state, 0, 0, 0, None)  # type: ignore[arg-type] # both are states


def waits(view: Starting, seconds: float) -> bool:
    return asyncio.run(await_view(cast(ViewProtocol, view), seconds))


@pytest.mark.parametrize("ready_at", [1, 3])
def test_the_wait_ends_when_the_view_is_ready(ready_at: int) -> None:
    view = Starting(ready_at)
    assert waits(view, 60)
    assert view.asked == ready_at


def test_the_wait_ends_in_time() -> None:
    assert not waits(Starting(float("inf")), 0.01)


def test_an_agent_of_asap_begins_within_a_loop_too() -> None:
    async def begin(view: Starting, patience_s: float) -> None:
        agent._wait_ready(cast(LiveView, view), patience_s)

    asyncio.run(begin(Starting(2), 60))
    with pytest.raises(ViewNotReady, match="not ready after 0 s"):
        asyncio.run(begin(Starting(float("inf")), 0.01))
