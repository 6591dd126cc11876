"""Waits for the view to answer queries, for whoever begins before it has read the log."""

from __future__ import annotations

import asyncio
import math

from streams.gateway.view_protocol import ViewProtocol

_LOOK_S = 0.05


async def await_view(view: ViewProtocol, seconds: float = math.inf) -> bool:
    """Wait until the view is ready, and return whether it is in time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not view.status().ready:
        left_s = deadline - loop.time()
        if left_s <= 0:
            return False
        await asyncio.sleep(min(_LOOK_S, left_s))
    return True
