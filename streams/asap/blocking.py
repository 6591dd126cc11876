"""Bridges between blocking code and coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


def run_blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a new event loop, in a thread if this thread has a running loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1, "asap") as pool:
        return pool.submit(asyncio.run, coroutine).result()


def run_without_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, without an event loop.

    Raises RuntimeError if it suspends.
    """
    try:
        coroutine.send(None)
    except StopIteration as exc:
        result: T = exc.value
        return result
    coroutine.close()
    raise RuntimeError("the coroutine waits for something")


async def run_in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a blocking call in a thread and return its result.

    StopIteration becomes RuntimeError, as in a coroutine: a future cannot hold it, so the caller
    would wait forever.
    """

    def called() -> T:
        try:
            return call(*args, **kwargs)
        except StopIteration as exc:
            raise RuntimeError("the call raised StopIteration") from exc

    return await asyncio.to_thread(called)
