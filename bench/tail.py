"""Milliseconds from producing an event to the clients of the live tail having it.

python -m bench.tail [--clients 1 200] [--rate N] [--seconds N]
A worker judges the events, the gateway's streams carry them; every client follows all sessions.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import threading
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import confluent_kafka as ck

from bench.cluster import WARM_UP_S, Bench, Worker, bench, percentile, wait_ready, worker
from bench.event_source import EventSource, follow_all
from bench.results import parse, record_runs
from schemas import encode, from_json
from streams.ops.broker import network
from topology.core import RTES_RAW
from topology.keys import partition_of

SESSIONS = 50


class Latencies:
    """Latencies of every client.

    sent: event id → when it was produced.  taken: ms, of every client.
    """

    def __init__(self) -> None:
        self.sent: dict[bytes, float] = {}
        self.taken: list[float] = []

    def take(self, data: bytes) -> None:
        now = time.perf_counter()
        at = data.index(b'"event_id":"') + 12
        began = self.sent.get(data[at : at + 36])
        if began is not None:
            self.taken.append((now - began) * 1000)


def event(number: int) -> dict[str, Any]:
    return {
        "event_id": str(uuid.uuid4()),
        "session_id": f"session-{number % SESSIONS:04d}",
        "payload": {
            "type": "TASK_TRANSITION",
            "task_id": str(uuid.uuid4()),
            "from_state": "PENDING",
            "to_state": "IN_PROGRESS",
            "timestamp": "2026-02-19T07:50:00Z",
        },
    }


def produce(env: Bench, count: int, rate: int, latencies: Latencies, warm_up_s: int) -> None:
    client = ck.Producer({"bootstrap.servers": env.settings.bootstrap, "linger.ms": 0})
    name, record = env.settings.prefix + RTES_RAW.name, RTES_RAW.record or ""
    began = time.perf_counter()
    for number in range(count):
        value = event(number)
        key = value["session_id"].encode()
        body = encode(record, from_json(record, value))
        while (now := time.perf_counter()) < began + number / rate:
            client.poll(min(0.002, began + number / rate - now))
        if number >= rate * warm_up_s:
            latencies.sent[value["event_id"].encode()] = now
        client.produce(name, body, key, partition_of(key, env.settings.partitions))
    client.flush(30)


async def measure(env: Bench, port: int, clients: int, options: argparse.Namespace) -> Latencies:
    latencies = Latencies()
    rate, warm_up, seconds = options.rate, options.warm_up, options.seconds
    sources = [EventSource(port, "", latencies.take) for _ in range(clients)]
    following = asyncio.create_task(follow_all(sources))
    while not all(source.last_id for source in sources):
        await asyncio.sleep(0.05)
    count = rate * (warm_up + seconds)
    producer = threading.Thread(target=produce, args=(env, count, rate, latencies, warm_up))
    producer.start()
    until = time.monotonic() + warm_up + seconds + 60
    expected = rate * seconds * clients
    while len(latencies.taken) < expected and time.monotonic() < until:
        await asyncio.sleep(0.05)
    producer.join()
    following.cancel()
    await asyncio.wait([following])
    if len(latencies.taken) != expected:
        raise TimeoutError(f"{len(latencies.taken)} of {expected} events")
    return latencies


@contextmanager
def gateway(env: Bench) -> Iterator[tuple[Worker, int]]:
    (port,) = network.pick_ports([], 1)
    os.environ["HEADRACE_GATEWAY"] = f"127.0.0.1:{port}"
    with worker(env, "streams.cli gateway", "gateway") as running:
        deadline = time.monotonic() + 60
        while not _is_ready(port):
            if time.monotonic() > deadline:
                raise TimeoutError("the gateway was not ready after 60 s")
            time.sleep(0.1)
        yield running, port


def _is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 200])
    parser.add_argument("--rate", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--warm-up", type=int, default=WARM_UP_S, help="seconds")
    options = parse(parser, arguments, {"clients": [1, 20], "seconds": 5, "warm_up": 3})
    with (
        record_runs("tail", __doc__, options) as runs,
        bench() as env,
        worker(env, "streams.cli worker", "worker"),
        gateway(env) as (served, port),
    ):
        wait_ready(env, "worker")
        for clients in options.clients:
            cpu = served.cpu_s()
            got = asyncio.run(measure(env, port, clients, options)).taken
            cpu = (served.cpu_s() - cpu) / (options.warm_up + options.seconds)
            runs.add(
                f"{clients} clients",
                rate_per_s=options.rate,
                p50_ms=percentile(got, 0.5),
                p99_ms=percentile(got, 0.99),
                max_ms=max(got),
                gateway_cores=cpu,
            )


if __name__ == "__main__":
    main()
