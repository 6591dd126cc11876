"""Tests as coroutines, in each kind of event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import uvloop

Test = Coroutine[Any, Any, None]
Run = Callable[[Test], None]
LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


def run_alone(test: Test, loop: str = "asyncio", patience_s: float = 60) -> None:
    """It must leave neither tasks nor threads behind."""
    before = set(threading.enumerate())
    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(_alone(test, patience_s))
    for thread in set(threading.enumerate()) - before:
        if thread.name.startswith("headrace"):
            thread.join(5)  # it may be in its last lines
            assert not thread.is_alive(), thread.name


async def _alone(test: Test, patience_s: float) -> None:
    async with asyncio.timeout(patience_s):
        await test
        while asyncio.all_tasks() != {asyncio.current_task()}:  # the loop ends generators itself
            await asyncio.sleep(0.001)
