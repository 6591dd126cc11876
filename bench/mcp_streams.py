"""Open streams of MCP events: the memory of idle ones, and how soon many clients have an event."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from threading import Thread

import uvloop

from bench import tail
from bench.cluster import Bench, Worker, percentiles
from bench.mcp_client import EventStream, Json
from bench.results import Recorder

_TYPE = "TASK_TRANSITION"
"""That of all events that are sent."""
_LATE_S = 60


class Latencies:
    """Milliseconds from the writing of each fact, in its transaction, to a client having it.

    since_ms: facts written before are only counted.
    """

    def __init__(self, since_ms: float) -> None:
        self._since_ms = since_ms
        self.count = 0
        self.taken: list[float] = []

    def take(self, timestamp: bytes) -> None:
        self.count += 1
        written_ms = datetime.fromisoformat(timestamp.decode()).timestamp() * 1000
        if written_ms >= self._since_ms:
            self.taken.append(time.time() * 1000 - written_ms)


@asynccontextmanager
async def opened(
    url: str, count: int, arguments: Json, latencies: Latencies
) -> AsyncIterator[None]:
    """Hold so many streams open."""
    streams = [EventStream(arguments, latencies.take) for _ in range(count)]
    try:
        for stream in streams:
            await stream.open(url)
        yield
    finally:
        for stream in streams:
            stream.close()


async def idle(runs: Recorder, gateway: Worker, url: str, count: int) -> None:
    """Open streams that nothing matches, after one, so that its reader is there before."""
    nothing, latencies = {"session_id": "none"}, Latencies(0)
    async with opened(url, 1, nothing, latencies):
        before_mb = gateway.memory_mb()
        async with opened(url, count, nothing, latencies):
            added_mb = gateway.memory_mb() - before_mb
    runs.add(f"{count} idle streams", memory_mb=added_mb)


async def push(
    runs: Recorder, env: Bench, gateway: Worker, url: str, options: argparse.Namespace
) -> None:
    """Send events at a steady rate to streams that have all of them.  Raises TimeoutError."""
    rate, warm_up, seconds = options.rate, options.stream_warm_up, options.seconds
    latencies = Latencies((time.time() + warm_up) * 1000)
    async with opened(url, options.streams, {"type": _TYPE}, latencies):
        count = rate * (warm_up + seconds)
        arguments = (env, count, rate, tail.Latencies(), warm_up)
        producer = Thread(target=tail.produce, args=arguments)
        producer.start()
        print(
            f"  {rate} events/s for {warm_up + seconds} s to {options.streams} streams", flush=True
        )
        await asyncio.sleep(warm_up)
        before_mb = gateway.memory_mb()
        until = time.monotonic() + seconds + _LATE_S
        while latencies.count < count * options.streams:
            if time.monotonic() > until:
                raise TimeoutError(f"{latencies.count} of {count * options.streams} notifications")
            await asyncio.sleep(0.05)
        grown_mb = gateway.memory_mb() - before_mb
        producer.join()
    name, shares = f"{options.streams} streams", percentiles(latencies.taken)
    runs.add(name, rate_per_s=rate, **shares, grown_mb=grown_mb)


def streams(
    runs: Recorder, env: Bench, gateway: Worker, url: str, options: argparse.Namespace
) -> None:
    uvloop.run(idle(runs, gateway, url, options.idle))
    uvloop.run(push(runs, env, gateway, url, options))
