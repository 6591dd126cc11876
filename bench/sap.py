"""Milliseconds of a cached answer at a steady rate, and tasks a second through the whole of SAP.

python -m bench.sap [--rate N] [--seconds N] [--tasks N] [--workers N ...] [--partitions N ...]
                    [--copies off|on ...]
`hits`, with each of these numbers of workers and of partitions: from producing a task to reading
its outcome (read_committed), all answered by the cache; with `--copies on` by the workers' copies
of it.
`backlog`: tasks that are there before the worker starts, two of each key.  An agent in this process
answers the first, its answer is stored, and the second gets it from the cache; with each choice of
`--copies` too.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import confluent_kafka as ck

from bench.cluster import WARM_UP_S, Bench, bench, broker, drain, percentile, wait_ready, worker
from bench.results import Recorder, parse, record_runs
from schemas import decode, encode, from_json, sap, to_json
from streams.agents import EchoAgent
from streams.engine.log import Pace
from streams.engine.records import Output, Record
from topology.declarations import Topic
from topology.keys import partition_of
from topology.sap import SAP_INBOX, SAP_OUTCOMES, SAP_RESULTS, SAP_TASKS

CAPABILITY = "report.summarise"
KEYS = 200
SEED = 7


def task(rnd: random.Random, document: int, mode: str) -> dict[str, Any]:
    return {
        "protocolVersion": "2.0",
        "taskId": str(uuid.UUID(int=rnd.getrandbits(128), version=4)),
        "correlationId": str(uuid.UUID(int=rnd.getrandbits(128), version=4)),
        "issuedAt": sap.protocol_time(time.time_ns() // 1_000_000),
        "issuer": {"agentId": f"issuer-{rnd.randrange(50)}", "agentKind": "agent"},
        "target": {"capability": CAPABILITY},
        "constitutionalContext": {
            "pressureLevel": "consulted",
            "principles": ["systems_over_willpower", "strategic_pause"],
            "pressure": {"systems_over_willpower": 63, "strategic_pause": 12},
            "constraints": ["No PII", "Cite at least one source"],
            "cachePolicy": {"mode": mode, "maxAgeSec": 86_400},
        },
        "payload": {
            "document": f"ledger-{document}",
            "question": "What has changed since the last quarter, and what should be done?",
            "requestId": f"{rnd.getrandbits(64):x}",
        },
        "outputContract": {"format": "json", "schema": {"type": "object"}},
        "telemetry": {"priority": "normal", "budget": {"tokens": 900}},
    }


def output(env: Bench, topic: Topic, value: dict[str, Any]) -> Output:
    record = topic.record or ""
    key = value["taskId"].encode()
    return Output(env.settings.prefix + topic.name, key, encode(record, from_json(record, value)))


@contextlib.contextmanager
def agent(env: Bench) -> Iterator[None]:
    """Answer the tasks of the inbox in a thread of this process."""
    clerk, stopped = EchoAgent("agent", (CAPABILITY,)), threading.Event()

    def answer(record: Record) -> Output:
        value = decode(record.value, SAP_INBOX.record or "").value
        results = clerk.results(to_json(SAP_INBOX.record or "", value), record.timestamp)
        return output(env, SAP_RESULTS, results[-1])

    def work() -> None:
        with env.reader(SAP_INBOX) as reader:
            while not stopped.is_set():
                env.log.append([answer(record) for record in reader.poll(0.01)])

    thread = threading.Thread(target=work, name="agent")
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def backlog(runs: Recorder, tasks: int, copies: str) -> None:
    """Measure two tasks of each key, one right behind the other."""
    rnd = random.Random(SEED)
    with bench() as env:
        records = [
            output(env, SAP_TASKS, task(rnd, number // 2, "prefer")) for number in range(tasks)
        ]
        env.log.append(records)
        with (
            agent(env),
            worker(env, "streams.cli worker", "worker", more=_settings(copies)) as running,
            env.reader(SAP_OUTCOMES) as reader,
        ):
            rate = drain(reader, tasks, running, limit_s=300)
    runs.add(
        f"backlog{_label(copies)}",
        tasks_per_s=rate.per_s,
        cpu_ms_each=1000 / rate.per_cpu_s,
        peak_mb=rate.peak_mb,
    )


def hits(
    runs: Recorder, options: argparse.Namespace, workers: int, partitions: int, copies: str
) -> None:
    rate, warm_up = options.rate, options.warm_up
    rnd = random.Random(SEED)
    with contextlib.ExitStack() as stack:
        on = replace(stack.enter_context(broker()), partitions=partitions)
        env = stack.enter_context(bench(on))
        names = [f"worker-{number}" for number in range(workers)]
        all_of = [
            stack.enter_context(worker(env, "streams.cli worker", name, more=_settings(copies)))
            for name in names
        ]
        for name in names:
            wait_ready(env, name)
        with env.reader(SAP_OUTCOMES) as reader, agent(env):
            env.log.append(
                [output(env, SAP_TASKS, task(rnd, number, "prefer")) for number in range(KEYS)]
            )
            drain(reader, KEYS, all_of[0], limit_s=120)
        count = rate * (warm_up + options.seconds)
        records = [
            output(env, SAP_TASKS, task(rnd, rnd.randrange(KEYS), "only")) for _ in range(count)
        ]
        cpu = sum(running.cpu_s() for running in all_of)
        values = measure(env, records, rate)[rate * warm_up :]
        cpu = (sum(running.cpu_s() for running in all_of) - cpu) / count
    runs.add(
        f"hits, workers {workers}, partitions {partitions}{_label(copies)}",
        rate_per_s=rate,
        p50_ms=percentile(values, 0.5),
        p99_ms=percentile(values, 0.99),
        max_ms=max(values),
        cpu_ms_each=cpu * 1000,
    )


def _settings(copies: str) -> dict[str, str]:
    return {"SAP_CACHE_COPY": "true" if copies == "on" else "false"}


def _label(copies: str) -> str:
    return ", copies" if copies == "on" else ""


def measure(env: Bench, records: list[Output], rate: int) -> list[float]:
    """Return latencies in ms, in the order of the outcomes."""
    sent: dict[bytes, float] = {}
    latencies: list[float] = []
    producer = threading.Thread(target=_produce, args=(env, records, rate, sent))
    deadline = time.monotonic() + len(records) / rate + 60
    with env.log.reader(env.log.ends(env.partitions(SAP_OUTCOMES)), Pace.LIVE) as reader:
        producer.start()
        while len(latencies) < len(records) and time.monotonic() < deadline:
            for record in reader.poll(0.005, 1):
                now = time.perf_counter()
                _check(record)
                latencies.append((now - sent[record.key or b""]) * 1000)
        producer.join()
    if len(latencies) < len(records):
        raise TimeoutError(f"{len(latencies)} of {len(records)} outcomes")
    return latencies


def _check(record: Record) -> None:
    outcome = decode(record.value, SAP_OUTCOMES.record or "").value
    cache = outcome["constitutionalEvidence"]["cache"]
    if not cache["hit"]:
        raise ValueError(f"task {outcome['taskId']} was not answered by the cache")


def _produce(env: Bench, records: list[Output], rate: int, sent: dict[bytes, float]) -> None:
    client = ck.Producer({"bootstrap.servers": env.settings.bootstrap, "linger.ms": 0})
    began, count = time.perf_counter(), env.settings.partitions
    for index, record in enumerate(records):
        while (now := time.perf_counter()) < began + index / rate:
            client.poll(min(0.002, began + index / rate - now))
        key = record.key or b""
        sent[key] = now
        client.produce(record.topic, record.value, key, partition_of(key, count))
    client.flush(30)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--tasks", type=int, default=8000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--partitions", type=int, nargs="+", default=[4])
    parser.add_argument("--copies", nargs="+", choices=["off", "on"], default=["off"])
    parser.add_argument("--warm-up", type=int, default=WARM_UP_S, help="seconds")
    options = parse(parser, arguments, {"seconds": 5, "warm_up": 5, "tasks": 1000})
    with record_runs("sap", __doc__, options) as runs:
        for choice in itertools.product(options.workers, options.partitions, options.copies):
            hits(runs, options, *choice)
        if options.tasks:
            for copies in options.copies:
                backlog(runs, options.tasks, copies)


if __name__ == "__main__":
    main()
