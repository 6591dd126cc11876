"""The threads in which requests read the log, apart from those that read the view."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from streams.api.problems import problem
from streams.api.route import Refused
from streams.engine.fetched.turns import take_turns
from streams.gateway.caller import get_caller
from streams.gateway.context import Gateway
from streams.gateway.limits import MAX_LOG_READS

T = TypeVar("T")


async def read_log(gateway: Gateway, read: Callable[[], T]) -> T:
    """Return what is read in a thread, which may wait for Kafka.

    Raises Refused if too many read already; one principal has half of the places.
    """
    caller, active = get_caller(), gateway.log_readers
    name = None if caller is None else caller.principal
    limit = MAX_LOG_READS if name is None else MAX_LOG_READS // 2
    if active.total() >= MAX_LOG_READS or active[name] >= limit:
        detail = f"{active.total()} requests read the log, {active[name]} of this caller; ask again"
        raise Refused(problem(503, detail, "service_unavailable"))
    active[name] += 1
    try:
        return await run_read(gateway, read)
    finally:
        active[name] -= 1
        if not active[name]:
            del active[name]


async def run_read(gateway: Gateway, read: Callable[[], T]) -> T:
    """Return what is read in a thread; large batches are in memory for one of the threads only."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(gateway.log_reads, lambda: take_turns(read))
