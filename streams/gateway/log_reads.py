"""The threads in which requests read the log, apart from those that read the view."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from streams.api.problems import problem
from streams.api.route import Refused
from streams.gateway.context import Gateway
from streams.gateway.limits import MAX_LOG_READS

T = TypeVar("T")


async def read_log(gateway: Gateway, read: Callable[[], T]) -> T:
    """Return what is read in a thread, which may wait for Kafka.  Raises Refused."""
    if gateway.reading_log >= MAX_LOG_READS:
        detail = f"{MAX_LOG_READS} requests read the log; ask again"
        raise Refused(problem(503, detail, "service_unavailable"))
    gateway.reading_log += 1
    try:
        return await asyncio.get_running_loop().run_in_executor(gateway.log_reads, read)
    finally:
        gateway.reading_log -= 1
