"""What spans cost: those that a gateway receives, and those of records that are exported.

python -m bench.otlp [--packets N] [--spans N] [--llm-spans N] [--rounds N] [--rate N] [--seconds N]
Workers decide the same packets with the export of spans off and on, in turn.  Spans as telemetrygen
makes them go to a gateway beside a worker, until each has its verdict; spans of model calls of
1.4 KB to a gateway alone.  An exporter sends the spans of what the packets have left to a backend
that answers at once, and follows packets at a steady rate: from the append to the backend.  Last,
clients send a gateway as many spans without members as a body may have.
"""

from __future__ import annotations

import argparse
import http.client
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from urllib.parse import urlsplit

from bench.cluster import Bench, Worker, bench, broker, drain, percentiles, wait_ready, worker
from bench.gateway import gateway_url, traffic
from bench.otlp_load import Sink, empty_spans, exported_to, llm_spans, sink, traces
from bench.packets import outputs
from bench.results import Recorder, parse, record_runs
from streams.settings import Settings
from topology.apc import APC_EVENTS
from topology.otel import OTEL_EVENTS

GATEWAY = "streams.cli gateway --listen 127.0.0.1:0"
WORKER = "streams.cli worker"
PROTOBUF = {"content-type": "application/x-protobuf"}
SENDERS = 4
LIMIT_S = 600
_MIB = 1 << 20


def post(url: str, body: bytes) -> int:
    """Send one request over a connection of its own; return the status of the answer."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=300)
    connection.request("POST", "/v1/traces", body, PROTOBUF)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def post_all(url: str, bodies: Sequence[bytes]) -> None:
    with ThreadPoolExecutor(SENDERS) as pool:
        statuses = set(pool.map(lambda body: post(url, body), bodies))
    if statuses != {200}:
        raise RuntimeError(f"the gateway answers {statuses}")


def decided(on: Settings, packets: int, url: str | None) -> float:
    """Return the packets that a new worker decides in a CPU-second, with or without the export."""
    with bench(on) as env, nullcontext() if url is None else exported_to(url):
        env.log.append(outputs(packets, env.settings.prefix))
        with worker(env, WORKER, "worker") as running, env.reader(APC_EVENTS) as reader:
            return drain(reader, packets, running, LIMIT_S).per_cpu_s


def off_and_on(runs: Recorder, on: Settings, packets: int, rounds: int) -> None:
    rates: dict[bool, list[float]] = {False: [], True: []}
    decided(on, packets // 4, None)  # the broker compiles its code
    for number in range(rounds):
        for is_on in (number % 2 == 0, number % 2 == 1):
            rates[is_on].append(decided(on, packets, "http://127.0.0.1:9" if is_on else None))
    off, with_spans = (statistics.median(rates[key]) for key in (False, True))
    pairs = [one / other for one, other in zip(rates[True], rates[False], strict=True)]
    runs.add("worker, tracing off", packets_per_cpu_s=off)
    runs.add("worker, tracing on", packets_per_cpu_s=with_spans, of_off=statistics.median(pairs))


def received(runs: Recorder, on: Settings, count: int) -> None:
    """Send spans to a gateway beside a worker, until each has its verdict."""
    bodies = traces(count)
    with (
        bench(on) as env,
        worker(env, WORKER, "worker") as deciding,
        worker(env, GATEWAY, "gateway") as gateway,
    ):
        wait_ready(env, "worker", LIMIT_S)
        url = gateway_url(env, LIMIT_S)
        post_all(url, traces(count // 10, seed=8))
        with env.reader(OTEL_EVENTS) as reader:
            seen = 0
            while seen < count // 10:
                seen += len(reader.poll(0.1))
            began, cpu = time.monotonic(), (gateway.cpu_s(), deciding.cpu_s())
            post_all(url, bodies)
            while seen < count // 10 + count:
                seen += len(reader.poll(0.1))
        took_s = time.monotonic() - began
        of_gateway, of_worker = gateway.cpu_s() - cpu[0], deciding.cpu_s() - cpu[1]
        runs.add(
            "receiver and worker",
            spans_per_s=count / took_s,
            spans_per_cpu_s=count / (of_gateway + of_worker),
            of_gateway_cpu_s=of_gateway,
            of_worker_cpu_s=of_worker,
        )


def received_alone(runs: Recorder, on: Settings, count: int) -> None:
    bodies = llm_spans(count)
    with bench(on) as env, worker(env, GATEWAY, "gateway") as gateway:
        url = gateway_url(env, LIMIT_S)
        post_all(url, bodies[: max(1, len(bodies) // 10)])
        began, cpu = time.monotonic(), gateway.cpu_s()
        post_all(url, bodies)
        runs.add(
            "gateway alone, model calls",
            bytes_each=sum(map(len, bodies)) / count,
            spans_per_s=count / (time.monotonic() - began),
            spans_per_cpu_s=count / (gateway.cpu_s() - cpu),
        )


def exported(runs: Recorder, on: Settings, packets: int, rate: int, seconds: int) -> None:
    """Export what packets have left, and then what comes at a steady rate."""
    with bench(on) as env, worker(env, WORKER, "worker") as deciding:
        env.log.append(outputs(packets, env.settings.prefix))
        with env.reader(APC_EVENTS) as reader:
            drain(reader, packets, deciding, LIMIT_S)
        with sink() as backend, exported_to(backend.url):
            export = "streams.cli export otlp --from earliest"
            with worker(env, export, "exporter") as exporter:
                at_once(runs, backend, exporter)
                follow(runs, env, backend, exporter, rate, seconds)


def at_once(runs: Recorder, backend: Sink, exporter: Worker) -> None:
    """Measure from the first spans that came to the last."""
    while not (first := backend.take()[0]):
        time.sleep(0.05)
    began, cpu, count = time.monotonic(), exporter.cpu_s(), 0
    last, last_cpu = began, cpu
    while time.monotonic() - last < 3:
        time.sleep(0.2)
        spans = backend.take()[0]
        if spans:
            count, last, last_cpu = count + spans, time.monotonic(), exporter.cpu_s()
    runs.add(
        "exporter, all at once",
        spans=first + count,
        spans_per_s=count / max(last - began, 0.2),
        spans_per_cpu_s=count / max(last_cpu - cpu, 0.01),
        peak_mb=exporter.memory_mb("VmHWM"),
    )


def follow(
    runs: Recorder, env: Bench, backend: Sink, exporter: Worker, rate: int, seconds: int
) -> None:
    with traffic(env, rate, seconds + 5):
        time.sleep(5)  # the sender starts
        backend.take()
        cpu = exporter.cpu_s()
        time.sleep(seconds - 1)
        spans, ages = backend.take()
        cpu = exporter.cpu_s() - cpu
    runs.add(
        f"exporter, {rate} packets/s", spans=spans, spans_per_cpu_s=spans / cpu, **percentiles(ages)
    )


def attacked(runs: Recorder, on: Settings, size: int) -> None:
    body = empty_spans(size)
    with bench(on) as env, worker(env, GATEWAY, "gateway") as gateway:
        url = gateway_url(env, LIMIT_S)
        post_all(url, traces(1000))
        for clients in (1, 20):
            before = gateway.memory_mb("VmHWM")
            with ThreadPoolExecutor(clients) as pool:
                statuses = set(pool.map(lambda _: post(url, body), range(clients)))
            runs.add(
                f"empty spans, {clients} clients",
                more_mb=gateway.memory_mb("VmHWM") - before,
                answers=" ".join(map(str, sorted(statuses))),
            )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=60_000)
    parser.add_argument("--rounds", type=int, default=5, help="of workers, off and on")
    parser.add_argument("--spans", type=int, default=50_000, help="as telemetrygen makes them")
    parser.add_argument("--llm-spans", type=int, default=25_000, help="of model calls")
    parser.add_argument("--rate", type=int, default=1000, help="packets a second")
    parser.add_argument("--seconds", type=int, default=30, help="of these")
    quick = {"packets": 4000, "rounds": 1, "spans": 2500, "llm_spans": 1000, "seconds": 4}
    options = parse(parser, arguments, {**quick, "rate": 100})
    with record_runs("otlp", __doc__, options) as runs, broker() as on:
        off_and_on(runs, on, options.packets, options.rounds)
        received(runs, on, options.spans)
        received_alone(runs, on, options.llm_spans)
        exported(runs, on, options.packets, options.rate, options.seconds)
        attacked(runs, on, 16 * _MIB - 1024)


if __name__ == "__main__":
    main()
