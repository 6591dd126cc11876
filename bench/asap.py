"""Round trips of `POST /asap` in ms, in process and on the log, and many clients at once.

python -m bench.asap [--rate N] [--seconds N] [--clients N] [--each N]
The server in process echoes; on the log a TaskRequest is answered once it is decided.  Requests of
one client are due at fixed times, on a persistent connection.  Targets at the 95th percentile:
10 ms in process, 50 ms on the log.  `clients` send one request after the other, all at once, and
each reply is checked to be its own.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
import uvloop

from bench.cluster import WARM_UP_S, bench, percentile, wait_ready, worker
from bench.gateway import gateway_url
from bench.results import Recorder, parse, record_runs
from schemas.asap import (
    Capability,
    Endpoint,
    Envelope,
    Manifest,
    TaskRequest,
    generate_id,
    make_envelope,
)
from streams import ASAPClient, create_app

AGENT, PLANNER = "urn:asap:agent:echo", "urn:asap:agent:planner"


def request(number: int) -> Envelope:
    payload = TaskRequest(
        conversation_id=f"conv-{number % 50}",
        skill_id="index.build",
        input={"pages": number, "question": "What has changed since the last quarter?"},
        config={"timeout_seconds": 90},
    )
    return make_envelope(payload, sender=PLANNER, recipient=AGENT, trace_id=generate_id())


def _serve(listener: socket.socket) -> None:
    manifest = Manifest(
        id=AGENT,
        name="echo",
        version="1.0.0",
        description="Echoes.",
        capabilities=Capability(),
        endpoints=Endpoint(asap="/asap"),
    )
    config = uvicorn.Config(create_app(manifest), log_config=None, loop="uvloop", ws="none")
    uvicorn.Server(config).run([listener])


@contextmanager
def echo_server() -> Iterator[str]:
    """Run a server without headrace in another process; yield its address."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(listener,))
    process.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        process.terminate()
        process.join()
        listener.close()


async def steady(url: str, rate: int, seconds: int) -> list[float]:
    """Return latencies in ms, each from when its request was due."""
    latencies: list[float] = []
    async with ASAPClient(url) as client:
        began = time.perf_counter()
        for number in range(rate * seconds):
            of, due = request(number), began + number / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            _check(of, await client.send(of))
            latencies.append((time.perf_counter() - due) * 1000)
    return latencies


async def crowd(url: str, clients: int, each: int) -> list[float]:
    """Return latencies in ms of many clients, each of which sends one request after the other."""
    latencies: list[float] = []

    async def one(first: int) -> None:
        async with ASAPClient(url) as client:
            for number in range(first, first + each):
                of, sent = request(number), time.perf_counter()
                _check(of, await client.send(of))
                latencies.append((time.perf_counter() - sent) * 1000)

    await asyncio.gather(*(one(number * each) for number in range(clients)))
    return latencies


def _check(of: Envelope, reply: Envelope) -> None:
    if (reply.correlation_id, reply.trace_id) != (of.id, of.trace_id):
        raise RuntimeError(f"the reply {reply.id} is not one to {of.id}")


def measure(runs: Recorder, name: str, url: str, options: argparse.Namespace) -> None:
    uvloop.run(steady(url, options.rate, options.warm_up))
    took = uvloop.run(steady(url, options.rate, options.seconds))
    shares = {f"p{share}_ms": percentile(took, share / 100) for share in (50, 95, 99)}
    runs.add(f"{name}, one client", rate_per_s=options.rate, **shares)
    began = time.perf_counter()
    took = uvloop.run(crowd(url, options.clients, options.each))
    wall = time.perf_counter() - began
    runs.add(
        f"{name}, {options.clients} clients",
        replies=len(took),
        replies_per_s=len(took) / wall,
        p50_ms=percentile(took, 0.5),
        p95_ms=percentile(took, 0.95),
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=WARM_UP_S, help="seconds")
    quick = {"seconds": 3, "warm_up": 2, "clients": 20, "each": 5}
    options = parse(parser, arguments, quick)
    with record_runs("asap", __doc__, options) as runs:
        with echo_server() as url:
            measure(runs, "in process", url, options)
        on_the_log(runs, options)


def on_the_log(runs: Recorder, options: argparse.Namespace) -> None:
    listen = "streams.cli gateway --listen 127.0.0.1:0"
    with (
        bench() as env,
        worker(env, "streams.cli worker", "worker"),
        worker(env, listen, "gateway"),
    ):
        wait_ready(env, "worker")
        measure(runs, "on the log", gateway_url(env), options)


if __name__ == "__main__":
    main()
