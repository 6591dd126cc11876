"""How soon the gateway answers a query beside live traffic, and how many requests it takes.

python -m bench.gateway [--rate 200] [--live 25 50 100] [--seconds N] [--packets N]
A worker and a gateway run as processes; packets come straight over Kafka all the while, and the
view holds some thousands before that.  Queries of each kind in turn are due at fixed times: what is
measured is from then to the last byte, so that a slow answer is not hidden by the ones that wait
behind it.  What `/healthz` takes, which reads nothing, is the machine's and the server's part.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import itertools
import json
import multiprocessing
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from urllib.parse import urlsplit

import confluent_kafka as ck
import uvloop

from bench.cluster import WARM_UP_S, Bench, bench, percentile, wait_ready, worker
from bench.packets import outputs, packets
from bench.results import parse, record_runs
from streams.settings import Settings
from topology.keys import partition_of

CLIENTS = 4
SENDERS = 16
LENGTH = re.compile(rb"content-length: (\d+)")
JSON = {"content-type": "application/json"}


def gateway_url(env: Bench, limit_s: float = 60, name: str = "gateway") -> str:
    """Return the address of the gateway of this name, once it is ready."""
    log = env.directory / f"{name}.log"
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        for line in log.read_text().splitlines() if log.exists() else []:
            if line.startswith("gateway http"):
                return line.split()[1]
        time.sleep(0.05)
    raise TimeoutError(f"the gateway was not ready after {limit_s} s")


class Client:
    """A persistent HTTP connection."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self._connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=120)

    def ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        self._connection.request(method, path, body, JSON if body else {})
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]!r}")
        return text


@contextmanager
def traffic(env: Bench, rate: int, seconds: int) -> Iterator[None]:
    """Send packets straight over Kafka from another process for as long as the context lasts."""
    sender = multiprocessing.get_context("spawn").Process(
        target=_send, args=(env.settings.bootstrap, env.settings.prefix, rate, seconds)
    )
    sender.start()
    try:
        yield
    finally:
        sender.terminate()
        sender.join()


def _send(bootstrap: str, prefix: str, rate: int, seconds: int) -> None:
    client = ck.Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    count = Settings.load().partitions
    began = time.monotonic()
    for index, record in enumerate(outputs(rate * seconds, prefix, seed=11)):
        time.sleep(max(0.0, began + index / rate - time.monotonic()))
        placed = partition_of(record.key or b"", count)
        client.produce(record.topic, record.value, record.key, placed)
        client.poll(0)


def paths(count: int) -> dict[str, list[str]]:
    """Return queries about existing packets by kind, and `/healthz`, which reads nothing."""
    paths_by_kind: dict[str, list[str]] = {"nothing": ["/healthz"]}
    for packet in packets(count):
        name = packet["trace"]["session_id"]
        session = f"/v1/apc/sessions/{name}"
        path = f"{session}/packets/{packet['packet_id']}"
        for kind, query in (
            ("a packet", path),
            ("its facts", f"{path}/events"),
            ("a standing", f"{session}/coordination"),
            ("20 packets", f"/v1/apc/packets?session_id={name}&limit=20"),
        ):
            paths_by_kind.setdefault(kind, []).append(query)
    return paths_by_kind


async def queries(url: str, paths: list[str], rate: int, seconds: int) -> list[float]:
    """Return latencies in ms, at a steady rate over a few persistent connections."""
    address = urlsplit(url)
    began = time.perf_counter()
    latencies: list[float] = []

    async def run(number: int) -> None:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        for index in range(number, rate * seconds, CLIENTS):
            due = began + index / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            path = paths[index * 7 % len(paths)]
            writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(LENGTH.findall(head)[0]))
            latencies.append((time.perf_counter() - due) * 1000)
            if b" 200 " not in head[:20]:
                raise RuntimeError(f"{path}: {head[:200]!r}")
        writer.close()

    await asyncio.gather(*map(run, range(CLIENTS)))
    return latencies


def produced(url: str, seconds: float) -> float:
    """Return produce requests per second, of one packet each, sent without pauses."""
    bodies = [json.dumps(packet).encode() for packet in packets(5000, seed=13)]
    turn = itertools.count()
    until = time.monotonic() + seconds

    def run(_: int) -> int:
        client, count = Client(url), 0
        while time.monotonic() < until:
            client.ask("POST", "/v1/apc/packets", bodies[next(turn) % len(bodies)])
            count += 1
        return count

    with ThreadPoolExecutor(SENDERS) as pool:
        return sum(pool.map(run, range(SENDERS))) / seconds


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--live", type=int, nargs="+", default=[25, 50, 100])
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--packets", type=int, default=20_000)
    parser.add_argument("--warm-up", type=int, default=WARM_UP_S, help="seconds")
    quick = {"seconds": 3, "packets": 3000, "warm_up": 3, "live": [25]}
    options = parse(parser, arguments, quick)
    listen = "streams.cli gateway --listen 127.0.0.1:0"
    with (
        record_runs("gateway", __doc__, options) as runs,
        bench() as env,
        worker(env, "streams.cli worker", "worker"),
        worker(env, listen, "gateway") as running,
    ):
        wait_ready(env, "worker")
        url = gateway_url(env)
        placed = env.log.append(outputs(options.packets, env.settings.prefix))
        last = {r.partition: f"{r.topic}/{r.partition}/{r.offset}" for r in placed}
        client = Client(url)
        for position in last.values():
            while b"not_seen" in _try(client, position):
                time.sleep(0.1)
        paths_by_kind = paths(min(2000, options.packets))
        for live in options.live:
            with traffic(
                env, live, (len(paths_by_kind) + 1) * options.seconds + options.warm_up + 60
            ):
                uvloop.run(queries(url, paths_by_kind["a packet"], options.rate, options.warm_up))
                for kind, some in paths_by_kind.items():
                    cpu = running.cpu_s()
                    took = uvloop.run(queries(url, some, options.rate, options.seconds))
                    cpu = (running.cpu_s() - cpu) / len(took)
                    runs.add(
                        f"{kind}, beside {live} packets/s",
                        rate_per_s=options.rate,
                        p50_ms=percentile(took, 0.5),
                        p99_ms=percentile(took, 0.99),
                        max_ms=max(took),
                        cpu_ms_each=cpu * 1000,
                    )
        runs.add(f"produce, {SENDERS} senders", requests_per_s=produced(url, options.seconds))


def _try(client: Client, position: str) -> bytes:
    try:
        return client.ask("GET", f"/v1/apc/packets?limit=1&after={position}")
    except RuntimeError as exc:
        return str(exc).encode()


if __name__ == "__main__":
    main()
