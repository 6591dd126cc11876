"""From code that blocks to coroutines, and back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


def blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """What it returns, run in a loop of its own: in a thread where this one has a running loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1, "asap") as pool:
        return pool.submit(asyncio.run, coroutine).result()


def at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns that never suspends, with no loop at all.

    Raises RuntimeError for one that does.
    """
    try:
        coroutine.send(None)
    except StopIteration as exc:
        found: T = exc.value
        return found
    coroutine.close()
    raise RuntimeError("the coroutine waits for something")


async def in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What a call returns or raises that may block; the loop goes on meanwhile.

    StopIteration becomes RuntimeError, as in a coroutine: no future can hold it, so whoever waits
    would never be told.
    """

    def called() -> T:
        try:
            return call(*args, **kwargs)
        except StopIteration as exc:
            raise RuntimeError("the call raised StopIteration") from exc

    return await asyncio.to_thread(called)
