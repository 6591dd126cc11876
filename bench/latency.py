"""Milliseconds from producing a packet to reading its verdict, at steady rates.

python -m bench.latency [--rates 50 100] [--seconds N] The reader is read_committed, so the whole
transaction lies within the time measured.
"""

from __future__ import annotations

import argparse
import threading
import time
from typing import Any

import confluent_kafka as ck

from bench.cluster import WARM_UP_S, Bench, bench, percentile, wait_ready, worker
from bench.packets import outputs
from bench.results import parse, record_runs
from streams.engine.log import Pace
from streams.engine.records import Output, header
from topology.apc import APC_EVENTS
from topology.keys import partition_of


def measure(
    env: Bench, rate: int, seconds: int, seed: int, warm_up_s: int = WARM_UP_S
) -> list[float]:
    """Return latencies in ms, without those of the warm-up."""
    records = outputs(rate * (warm_up_s + seconds), env.settings.prefix, seed)
    sent: dict[str, float] = {}
    latencies: list[float] = []
    producer = threading.Thread(target=_produce, args=(env, records, rate, sent))
    ends = env.log.ends(env.partitions(APC_EVENTS))
    with env.log.reader(ends, Pace.LIVE) as reader:
        producer.start()
        waiting: dict[str, float] = {}
        deadline = time.monotonic() + warm_up_s + seconds + 60
        while len(latencies) < len(records) and time.monotonic() < deadline:
            for record in reader.poll(0.005, 1):
                cause = header(record, "headrace-cause")
                waiting[(cause or b"").decode()] = time.perf_counter()
            for cause_text in [c for c in waiting if c in sent]:
                latencies.append((waiting.pop(cause_text) - sent[cause_text]) * 1000)
        producer.join()
    if len(latencies) < len(records):
        raise TimeoutError(f"{len(latencies)} of {len(records)} verdicts")
    return latencies[rate * warm_up_s :]


def _produce(env: Bench, records: list[Output], rate: int, sent: dict[str, float]) -> None:
    client = ck.Producer({"bootstrap.servers": env.settings.bootstrap, "linger.ms": 0})

    def delivered(at: float) -> Any:
        def note(error: Any, message: Any) -> None:
            sent[f"{message.topic()}/{message.partition()}/{message.offset()}"] = at

        return note

    began = time.perf_counter()
    count = env.settings.partitions
    for index, record in enumerate(records):
        while (now := time.perf_counter()) < began + index / rate:
            client.poll(min(0.002, began + index / rate - now))
        placed = partition_of(record.key or b"", count)
        client.produce(record.topic, record.value, record.key, placed, on_delivery=delivered(now))
    client.flush(30)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rates", type=int, nargs="+", default=[50, 100])
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--warm-up", type=int, default=WARM_UP_S, help="seconds")
    options = parse(parser, arguments, {"seconds": 5, "warm_up": 5})
    with (
        record_runs("latency", __doc__, options) as runs,
        bench() as env,
        worker(env, "streams.cli worker", "worker") as running,
    ):
        wait_ready(env, "worker")
        for seed, rate in enumerate(options.rates):
            cpu = running.cpu_s()
            values = measure(env, rate, options.seconds, seed, options.warm_up)
            cpu = (running.cpu_s() - cpu) / (rate * (options.warm_up + options.seconds))
            runs.add(
                f"{rate} packets/s",
                p50_ms=percentile(values, 0.5),
                p99_ms=percentile(values, 0.99),
                max_ms=max(values),
                cpu_ms_each=cpu * 1000,
            )


if __name__ == "__main__":
    main()
