"""Waits for rows of the view, for requests that wait for an outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from streams.errors import ViewNotReady
from streams.gateway.context import Gateway
from streams.gateway.endpoints import require_broker
from streams.views.reads import ReadOnlyStore

T = TypeVar("T")


async def await_row(
    gateway: Gateway, row: bytes, look: Callable[[ReadOnlyStore], T | None], seconds: float
) -> T | None:
    """Return the result of `look`, called now and whenever the row is written until it returns one.

    The result is None when time is up.  `look` runs on the event loop, since it is brief and a
    thread would cost more.
    """
    try:
        async with asyncio.timeout(seconds):
            while True:
                with gateway.view.awaiting(row) as written:
                    with gateway.view.reader() as reads:
                        result = look(reads)
                    if result is not None:
                        return result
                    await asyncio.wrap_future(written)
    except (TimeoutError, ViewNotReady):
        return None


def require_verdicts(gateway: Gateway) -> None:
    """Check that the view would see the verdict on a record that is sent now.

    Raises BrokerUnavailable, ViewNotReady.
    """
    require_broker(gateway)
    status = gateway.view.status()
    if not status.ready:
        raise ViewNotReady(f"the view is {status.state.replace('_', ' ')}", status.lag)
