"""What an innocent client notices while somebody attacks the gateway or the worker.

python -m bench.attacks [--only NAME ...] [--rate N] [--seconds N]
Each attack of docs/threat-model.md has a system of its own: a worker and a gateway as processes,
under the usual limit of 1,024 open files.  A client sends packets and asks for twenty in turn, at a
steady rate, for some seconds before the attack and while it lasts.  A request that fails counts as
such, and as long as it waited.  Memory is the peak of each process.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import confluent_kafka as ck

from bench.cluster import Bench, Worker, bench, broker, percentile, wait_ready, worker
from bench.gateway import Client, gateway_url
from bench.packets import outputs, packets
from bench.results import parse, record_runs
from schemas import encode, from_json
from schemas.encoder import varint
from streams.settings import Settings
from topology.apc import APC_EVENTS, APC_PACKETS
from topology.declarations import Topic
from topology.saop import RTES_EVENTS

OPEN_FILES = "bench.limited --open-files 1024"
LONG_S = 30.0
MIB = 1024 * 1024
EXAMPLES = Path(__file__).resolve().parents[1] / "schemas" / "examples"
MANIFEST = EXAMPLES / "summit" / "manifests" / "minimal.json"
PACKET = EXAMPLES / "apc" / "idea.json"
RECORD = APC_PACKETS.record or ""
EVENT = EXAMPLES / "rtes" / "thought_stream.json"


class Target(NamedTuple):
    """The system that is attacked."""

    env: Bench
    url: str

    def connect(self) -> socket.socket:
        address = urlsplit(self.url)
        return socket.create_connection((address.hostname, address.port), LONG_S)

    def produce(self, topic: Topic, key: bytes, value: bytes, **config: object) -> int:
        """Write past the gateway, as who may write to the topic in Kafka can; returns the offset.

        Raises RuntimeError if Kafka does not take it.
        """
        reports: list[tuple[ck.KafkaError | None, ck.Message]] = []
        limits = {"message.max.bytes": 1_000_000_000, "queue.buffering.max.kbytes": 1024 * 1024}
        client = ck.Producer({"bootstrap.servers": self.env.settings.bootstrap, **limits, **config})
        name = self.env.settings.prefix + topic.name
        client.produce(name, value, key, 0, on_delivery=lambda *report: reports.append(report))
        client.flush(LONG_S)
        for error, message in reports:
            if error is None:
                return int(message.offset())
        raise RuntimeError(f"Kafka does not take a record for {name}: {reports}")


def patterns(target: Target) -> str:
    """Register a manifest of 12 KB whose 300 patterns are large programs."""
    names = {f"p{i}": {"type": "string", "pattern": rf"\pL{{0,100}}N{i}"} for i in range(300)}
    manifest = json.loads(MANIFEST.read_text(encoding="utf-8"))
    manifest["spec"]["interface"] = {"inputSchema": {"type": "object", "properties": names}}
    return post(target, "/v1/summit/manifests", json.dumps(manifest).encode())


def inflated(target: Target) -> str:
    """Write one record of 300 MB of zeros, which zstd makes 10 KB."""
    target.produce(APC_PACKETS, b"bomb", bytes(300 * MIB), **{"compression.type": "zstd"})
    return "written"


def items(target: Target) -> str:
    """Write a packet of 45 MB with fifteen million empty recipients, which zstd makes 2 KB."""
    count, mark = 15_000_000, str(uuid.uuid4())
    packet = json.loads(PACKET.read_text(encoding="utf-8"))
    packet["recipients"] = [{"agent_id": mark}]
    framed = encode(RECORD, from_json(RECORD, packet))
    before, after = framed.split(varint(1) + varint(len(mark)) + mark.encode())
    value = before + varint(count) + bytes(3 * count) + after[2:]
    target.produce(APC_PACKETS, b"items", value, **{"compression.type": "zstd"})
    return "written"


def idle(target: Target) -> str:
    """Hold 1,100 connections that say nothing."""
    with contextlib.ExitStack() as stack:
        opened = 0
        with contextlib.suppress(OSError):
            for _ in range(1100):
                stack.enter_context(target.connect())
                opened += 1
        time.sleep(LONG_S / 3)
    return f"{opened} connections"


def unread(target: Target) -> str:
    """Ask for large documents over 257 connections, and read nothing."""
    request = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 40
    with contextlib.ExitStack() as stack:
        opened = 0
        with contextlib.suppress(OSError):
            for _ in range(257):
                connection = stack.enter_context(target.connect())
                opened += 1
                connection.settimeout(0.2)
                with contextlib.suppress(TimeoutError):
                    connection.sendall(request)
        time.sleep(LONG_S / 3)
    return f"{opened} connections"


def values(target: Target) -> str:
    """Send four bodies of 16 MB, each a list of five million empty objects, at once."""
    body = b"[" + b"{}," * ((16 * MIB - 4) // 3) + b"{}]"
    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(lambda _: post(target, "/v1/apc/packets", body), range(4))
        return ", ".join(sorted(set(answers)))


def identifiers(target: Target) -> str:
    """Write six events whose session id has 3 MB."""
    event = json.loads(EVENT.read_text(encoding="utf-8"))
    answers = set()
    for number in range(6):
        event |= {"event_id": str(uuid.uuid4()), "session_id": f"{number}" + "s" * 3 * MIB}
        answers.add(post(target, "/v1/rtes/events", json.dumps(event).encode()))
    return ", ".join(sorted(answers))


def facts(target: Target) -> str:
    """Write records onto a topic of facts that no processor could have written."""
    target.produce(APC_EVENTS, b"\xff\xfe", b"\0\0\0\0\1nothing")
    target.produce(RTES_EVENTS, b"\xff\xfe", b"\0\xff\xff\xff\xffnothing")
    return "written"


def pages(target: Target) -> str:
    """Write eight records of 15 MB, which zstd makes 1 KB each, and ask for pages of them."""
    return ask_for_pages(target, 8, 15 * MIB, "zstd")


def pages_of_gzip(target: Target) -> str:
    """Write eight records of 15 MB, which gzip makes 15 KB each, and ask for pages of them."""
    return ask_for_pages(target, 8, 15 * MIB, "gzip")


def bombs(target: Target) -> str:
    """Write two records of 200 MB, which gzip makes 200 KB each, and ask for pages of them."""
    return ask_for_pages(target, 2, 200 * MIB, "gzip")


def ask_for_pages(target: Target, count: int, size: int, codec: str) -> str:
    """Write so many records of zeros, and have eight clients ask for pages of them."""
    offsets = [
        target.produce(APC_PACKETS, b"page", bytes(size), **{"compression.type": codec})
        for _ in range(count)
    ]
    path = f"/v1/records/{APC_PACKETS.name}/0?limit=200&from={offsets[0]}"
    return at_once(8, lambda _: ask_for_a_while(target, path))


def fresh(target: Target) -> str:
    """Wait for ends of the log and for a verdict that never comes, 256 requests at a time."""
    never = f"after={target.env.settings.prefix}{APC_PACKETS.name}/0/{1 << 40}"
    paths = [f"/v1/apc/packets?limit=1&{wait}" for wait in ("fresh=true", never)]
    return at_once(256, lambda number: ask_for_a_while(target, paths[number % 2]))


def ask_for_a_while(target: Target, path: str) -> set[str]:
    """Send the same request again and again, and return what is answered."""
    answers, end = set[str](), time.monotonic() + LONG_S / 3
    while time.monotonic() < end:
        answers.add(request(target, "GET", path))
    return answers


def at_once(clients: int, ask: Callable[[int], set[str]]) -> str:
    """Return what so many clients are answered who ask at once."""
    with ThreadPoolExecutor(clients) as pool:
        return ", ".join(sorted(set[str]().union(*pool.map(ask, range(clients)))))


ATTACKS: dict[str, Callable[[Target], str]] = {
    "patterns": patterns,
    "inflated": inflated,
    "items": items,
    "idle": idle,
    "unread": unread,
    "values": values,
    "identifiers": identifiers,
    "facts": facts,
    "pages": pages,
    "pages_of_gzip": pages_of_gzip,
    "bombs": bombs,
    "fresh": fresh,
}


def post(target: Target, path: str, body: bytes) -> str:
    """Send a body, and return the status and the broken rule of the response."""
    return request(target, "POST", path, body)


def request(target: Target, method: str, path: str, body: bytes | None = None) -> str:
    """Send a request, and return the status and the broken rule of the response."""
    try:
        Client(target.url).ask(method, path, body)
    except RuntimeError as exc:
        status, rule = re.search(r": (\d+) ", str(exc)), re.search(r'"rule":"(\w+)"', str(exc))
        return " ".join(match[1] for match in (status, rule) if match)
    except OSError as exc:
        return type(exc).__name__
    return "accepted"


@dataclass
class Innocent:
    """A client that sends a packet and asks for twenty in turn, each by a thread of its own."""

    url: str
    rate: int
    latencies_ms: list[float] = field(default_factory=list)
    failed: int = 0

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        self.latencies_ms, self.failed = [], 0
        over = threading.Event()
        with ThreadPoolExecutor(8) as pool:
            runs = [pool.submit(self._run, number, over) for number in range(8)]
            try:
                yield
            finally:
                over.set()
                for run in runs:
                    run.result()

    def _run(self, number: int, over: threading.Event) -> None:
        bodies = [json.dumps(packet).encode() for packet in packets(500, seed=number)]
        began, turn = time.perf_counter(), 0
        while not over.wait(max(0.0, began + turn * 8 / self.rate - time.perf_counter())):
            started = time.perf_counter()
            try:
                if turn % 2:
                    Client(self.url).ask("GET", "/v1/apc/packets?limit=20")
                else:
                    Client(self.url).ask("POST", "/v1/apc/packets", bodies[turn % 500])
            except (OSError, RuntimeError):
                self.failed += 1
            self.latencies_ms.append((time.perf_counter() - started) * 1000)
            turn += 1


@contextlib.contextmanager
def system(settings: Settings) -> Iterator[tuple[Target, Worker, Worker]]:
    """Run a worker and a gateway with a few thousand packets decided."""
    listen = f"{OPEN_FILES} streams.cli gateway --listen 127.0.0.1:0"
    with (
        bench(settings) as env,
        worker(env, f"{OPEN_FILES} streams.cli worker", "worker") as deciding,
        worker(env, listen, "gateway") as serving,
    ):
        wait_ready(env, "worker")
        env.log.append(outputs(2000, env.settings.prefix))
        yield Target(env, gateway_url(env)), deciding, serving


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(ATTACKS), default=list(ATTACKS))
    parser.add_argument("--rate", type=int, default=20, help="requests per second")
    parser.add_argument("--seconds", type=int, default=10, help="before the attack, and after it")
    options = parse(parser, arguments, {"seconds": 2, "only": ["values"]})
    with record_runs("attacks", __doc__, options) as runs, broker() as settings:
        for name in options.only:
            with system(settings) as (target, deciding, serving):
                innocent = Innocent(target.url, options.rate)
                with innocent.working():
                    time.sleep(options.seconds)
                before = percentile(innocent.latencies_ms, 1.0)
                with innocent.working():
                    answer = ATTACKS[name](target)
                    time.sleep(options.seconds)
                runs.add(
                    name,
                    answer=answer,
                    slowest_before_ms=before,
                    slowest_ms=percentile(innocent.latencies_ms, 1.0),
                    p99_ms=percentile(innocent.latencies_ms, 0.99),
                    failed=innocent.failed,
                    requests=len(innocent.latencies_ms),
                    gateway_peak_mb=serving.memory_mb("VmHWM"),
                    worker_peak_mb=deciding.memory_mb("VmHWM"),
                )


if __name__ == "__main__":
    main()
