"""What a row of the view says, now or once it is written: for those who wait for an outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from streams.errors import ViewNotReady
from streams.gateway.context import Gateway
from streams.gateway.endpoints import needs_broker
from streams.views.reads import ReadOnlyStore

T = TypeVar("T")


async def find(
    gateway: Gateway, row: bytes, look: Callable[[ReadOnlyStore], T | None], seconds: float
) -> T | None:
    """What `look` finds, None when time is up.  A look is brief: a thread would cost more."""
    try:
        async with asyncio.timeout(seconds):
            while True:
                with gateway.view.awaiting(row) as written:
                    with gateway.view.reader() as reads:
                        found = look(reads)
                    if found is not None:
                        return found
                    await asyncio.wrap_future(written)
    except (TimeoutError, ViewNotReady):
        return None


def needs_verdicts(gateway: Gateway) -> None:
    """Nothing is taken whose verdict would not be seen.

    Raises BrokerUnavailable, ViewNotReady.
    """
    needs_broker(gateway)
    status = gateway.view.status()
    if not status.ready:
        raise ViewNotReady(f"the view is {status.state.replace('_', ' ')}", status.lag)
