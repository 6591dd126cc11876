"""Blocking calls beside an event loop, which do not delay the end of the process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, cast

T = TypeVar("T")


async def in_thread(call: Callable[[], T], limit_s: float | None = None) -> T:
    """Return what a call returns, made in a daemon thread.

    An executor's threads would be joined at the end, and with them a gateway that hangs.
    Raises TimeoutError.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if result.done():
            return
        if error is not None:
            result.set_exception(error)
        else:
            result.set_result(cast(T, value))

    def run() -> None:
        value, error = None, None
        try:
            value = call()
        except BaseException as exc:
            error = exc
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name="headrace-watch", daemon=True).start()
    return await asyncio.wait_for(result, limit_s)
