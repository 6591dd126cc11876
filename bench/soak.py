"""Mixed traffic of all five protocols at a steady rate for a long time, and what stays flat.

python -m bench.soak [--minutes N] [--rate N] [--fill N] [--block-cache MIB] [--sample SECONDS]
First so many records at a higher rate, so that RocksDB's buffers and its cache, which is smaller
than by default, are as full as they become: what grows after that grows for good.  Then the
warm-up, and then what counts.
A worker, a gateway, an agent of SAP in this process and one of Summit in its own.  Every sample is
a line of `soak.csv`: memory and open files of worker and gateway, what RocksDB has of that memory
and what they have on disk, lag of the workers' group, and milliseconds from a packet to its
committed verdict.  `soak.png` draws them; the result compares the first quarter after the warm-up
with the last one.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import confluent_kafka as ck

from bench import packets, sap
from bench.cluster import WARM_UP_S, Bench, Worker, bench, percentile, wait_ready, worker
from bench.events import make_outputs
from bench.results import Recorder, parse, record_runs
from bench.soak_plot import draw
from bench.summit import AGENT, AGENT_PROCESS, inputs, wait_agent
from schemas import asap, encode, from_json
from streams.engine import metrics as worker_metrics
from streams.engine.log import Pace
from streams.engine.records import Output, TopicPartition, header
from streams.gateway import metrics as gateway_metrics
from streams.ops.broker import network
from streams.telemetry.metrics import MetricDeclaration
from tests.e2e.asap_stories import Story, mixed
from topology import processors
from topology.apc import APC_EVENTS
from topology.asap import ASAP_ENVELOPES
from topology.core import RTES_RAW
from topology.keys import partition_of
from topology.saop import SAOP_TURNS
from topology.sap import SAP_TASKS
from topology.summit import SUMMIT_CALLS

PER_CYCLE = {"apc": 6, "rtes": 6, "saop": 2, "sap": 2, "asap": 3, "summit": 1}
"""Records of each kind in twenty."""
STORIES = 40
FILL_PER_S = 500


class Sample(NamedTuple):
    """One line of the file.  Milliseconds are of the packets since the line before."""

    second: int
    sent: int
    worker_mb: float
    worker_rocksdb_mb: float
    worker_files: int
    worker_disk_mb: float
    gateway_mb: float
    gateway_rocksdb_mb: float
    gateway_files: int
    gateway_disk_mb: float
    lag: int
    p50_ms: float
    p99_ms: float


def traffic(env: Bench, count: int) -> Iterator[Output]:
    """Yield records without end, in the shares of PER_CYCLE."""
    made = {
        "apc": iter(packets.outputs(count, env.settings.prefix)),
        "rtes": iter(_renamed(env, make_outputs(RTES_RAW, count))),
        "saop": iter(_renamed(env, make_outputs(SAOP_TURNS, count))),
        "sap": _sap(env),
        "asap": _asap(env),
        "summit": _summit(env),
    }
    cycle = [kind for kind, times in PER_CYCLE.items() for _ in range(times)]
    random.Random(sap.SEED).shuffle(cycle)
    for kind in itertools.cycle(cycle):
        yield next(made[kind])


def _renamed(env: Bench, records: list[Output]) -> Iterator[Output]:
    for record in records:
        yield record._replace(topic=env.settings.prefix + record.topic)


def _sap(env: Bench) -> Iterator[Output]:
    """Yield tasks, most of which the cache answers."""
    rnd = random.Random(sap.SEED)
    while True:
        yield sap.output(env, SAP_TASKS, sap.task(rnd, rnd.randrange(sap.KEYS), "prefer"))


def _asap(env: Bench) -> Iterator[Output]:
    rnd, record = random.Random(sap.SEED), ASAP_ENVELOPES.record or ""
    for crowd in itertools.count():
        stories = [Story(f"soak-{crowd}-{n}", rnd) for n in range(STORIES)]
        for envelope in mixed(stories, rnd):
            body = encode(record, from_json(record, envelope))
            yield Output(
                env.settings.prefix + ASAP_ENVELOPES.name, asap.task_key(envelope).encode(), body
            )


def _summit(env: Bench) -> Iterator[Output]:
    record = SUMMIT_CALLS.record or ""
    for number in itertools.count():
        run_id = f"soak-{number}"
        params = {"agentId": AGENT, "runId": run_id, "inputs": inputs(number)}
        call = {"jsonrpc": "2.0", "id": number, "method": "agent.invoke", "params": params}
        body = encode(record, from_json(record, call))
        yield Output(env.settings.prefix + SUMMIT_CALLS.name, run_id.encode(), body)


class Traffic(threading.Thread):
    """A thread that sends at the rate until it is stopped, and stores each packet's send time.

    fill: the number of records that are sent first, at a higher rate.
    """

    def __init__(self, env: Bench, records: Iterator[Output], rate: float, fill: int) -> None:
        super().__init__(name="traffic")
        self.sent = 0
        self.at: dict[str, float] = {}
        self.stopped = threading.Event()
        self._env, self._records, self._rate, self._fill = env, records, rate, fill

    def run(self) -> None:
        client = ck.Producer({"bootstrap.servers": self._env.settings.bootstrap, "linger.ms": 0})
        count, began = self._env.settings.partitions, time.perf_counter()
        for record in self._records:
            due = began + self._due_s(self.sent)
            while (now := time.perf_counter()) < due and not self.stopped.is_set():
                client.poll(min(0.002, due - now))
            if self.stopped.is_set():
                break
            placed = partition_of(record.key or b"", count)
            note = self._note(now) if record.topic.endswith("apc.packets") else None
            client.produce(record.topic, record.value, record.key, placed, on_delivery=note)
            self.sent += 1
        client.flush(30)

    def _due_s(self, count: int) -> float:
        filling = min(count, self._fill)
        return filling / FILL_PER_S + (count - filling) / self._rate

    def _note(self, at: float) -> Callable[[Any, Any], None]:
        def note(error: Any, message: Any) -> None:
            self.at[f"{message.topic()}/{message.partition()}/{message.offset()}"] = at

        return note


class Verdicts(threading.Thread):
    """A thread that collects the latencies, in ms, of the verdicts since the last call of take."""

    def __init__(self, env: Bench, sent: dict[str, float]) -> None:
        super().__init__(name="verdicts")
        self.stopped = threading.Event()
        self._env, self._sent = env, sent
        self._ends = env.log.ends(env.partitions(APC_EVENTS))
        self._taken: list[float] = []

    def run(self) -> None:
        waiting: dict[str, float] = {}
        with self._env.log.reader(self._ends, Pace.LIVE) as reader:
            while not self.stopped.is_set():
                for record in reader.poll(0.005, 1):
                    cause = (header(record, "headrace-cause") or b"").decode()
                    waiting.setdefault(cause, time.perf_counter())
                for cause in [c for c in waiting if c in self._sent]:
                    self._taken.append((waiting.pop(cause) - self._sent.pop(cause)) * 1000)

    def take(self) -> list[float]:
        taken, self._taken = self._taken, []
        return taken


def files(process: Worker) -> int:
    return len(list(Path(f"/proc/{process.process.pid}/fd").iterdir()))


def size_mb(directory: Path) -> float:
    total = 0
    for path in directory.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # compaction has removed it since it was listed
            continue
    return total / (1 << 20)


def rocksdb_mb(process: Worker, metric: MetricDeclaration) -> float:
    """Return the memory that RocksDB reports for the process, in MB."""
    return sum(process.values(metric.name)) / (1 << 20)


def lag(env: Bench) -> int:
    """Return the lag over all inputs, by the group's offsets, which are committed once a second."""
    names = sorted({t.name for p in processors.ALL for t in p.inputs})
    count = env.settings.partitions
    tps = [TopicPartition(env.settings.prefix + n, p) for n in names for p in range(count)]
    ends, positions = env.log.ends(tps), env.log.committed(tps)
    return sum(end - positions.get(tp, 0) for tp, end in ends.items())


def soak(options: argparse.Namespace) -> list[Sample]:
    before = options.fill // FILL_PER_S + options.warm_up
    seconds = options.minutes * 60 + before
    count = options.fill + int(options.rate * seconds) + 1
    samples: list[Sample] = []
    cache = {"BLOCK_CACHE_MIB": str(options.block_cache)}
    metrics, listen = (f"127.0.0.1:{port}" for port in network.pick_ports([], 2))
    with (
        bench() as env,
        worker(env, f"streams.cli worker --metrics {metrics}", "worker", more=cache) as working,
        worker(env, f"streams.cli gateway --listen {listen}", "gateway", more=cache) as serving,
    ):
        wait_ready(env, "worker")
        working.metrics, serving.metrics = f"http://{metrics}/metrics", f"http://{listen}/metrics"
        with worker(env, AGENT_PROCESS, "agent"), sap.agent(env):
            wait_agent(env)
            sending = Traffic(env, traffic(env, count), options.rate, options.fill)
            verdicts = Verdicts(env, sending.at)
            verdicts.start()
            sending.start()
            try:
                began = time.monotonic()
                while (second := int(time.monotonic() - began)) < seconds:
                    time.sleep(options.sample)
                    took = verdicts.take() or [0.0]
                    samples.append(
                        Sample(
                            second + options.sample - before,
                            sending.sent,
                            working.memory_mb(),
                            rocksdb_mb(working, worker_metrics.MEMORY),
                            files(working),
                            size_mb(env.directory / "worker"),
                            serving.memory_mb(),
                            rocksdb_mb(serving, gateway_metrics.MEMORY),
                            files(serving),
                            size_mb(env.directory / "gateway"),
                            lag(env),
                            percentile(took, 0.5),
                            percentile(took, 0.99),
                        )
                    )
                    show(samples[-1])
            finally:
                sending.stopped.set()
                sending.join()
                verdicts.stopped.set()
                verdicts.join()
    return samples


def show(sample: Sample) -> None:
    print(
        f"  {sample.second:5} s  {sample.sent:7} sent  worker {sample.worker_mb:4.0f} MB"
        f" ({sample.worker_rocksdb_mb:.0f} of RocksDB)"
        f" {sample.worker_files} files {sample.worker_disk_mb:.0f} MB on disk"
        f"  gateway {sample.gateway_mb:4.0f} MB ({sample.gateway_rocksdb_mb:.0f})  lag {sample.lag}"
        f"  p50 {sample.p50_ms:.1f}  p99 {sample.p99_ms:.1f} ms",
        flush=True,
    )


def summary(samples: list[Sample], runs: Recorder) -> None:
    """Add the medians of the first and the last quarter behind the warm-up."""
    measured = [sample for sample in samples if sample.second > 0]
    quarter = max(1, len(measured) // 4)
    for number, name in enumerate(Sample._fields[2:], 2):
        first, last = (
            statistics.median(float(sample[number]) for sample in part)
            for part in (measured[:quarter], measured[-quarter:])
        )
        runs.add(name, first_quarter=first, last_quarter=last)
    runs.add("sent", first_quarter=measured[0].sent, last_quarter=measured[-1].sent)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=float, default=40)
    parser.add_argument("--fill", type=int, default=120_000, help="records")
    parser.add_argument("--block-cache", type=int, default=8, help="MiB of each process")
    parser.add_argument("--sample", type=int, default=10)
    parser.add_argument("--warm-up", type=int, default=WARM_UP_S, help="seconds")
    options = parse(parser, arguments, {"minutes": 0.5, "fill": 500, "sample": 5, "warm_up": 10})
    with record_runs("soak", __doc__, options) as runs:
        samples = soak(options)
        options.into.mkdir(parents=True, exist_ok=True)
        with (options.into / "soak.csv").open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(Sample._fields)
            rows.writerows(samples)
        draw([sample._asdict() for sample in samples], options.into / "soak.png")
        summary(samples, runs)


if __name__ == "__main__":
    main()
