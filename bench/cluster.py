"""What the benchmarks share: a broker, fresh topics, worker processes and what they cost."""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from streams.admin import create_topics
from streams.broker import running_broker
from streams.engine.kafka import KafkaLog
from streams.engine.log import Reader
from streams.engine.records import TopicPartition
from streams.engine.task import group_of
from streams.engine.worker import READY_FILE
from streams.settings import Settings
from topology.declarations import Topic

TICKS = os.sysconf("SC_CLK_TCK")
WARM_UP_S = 90
"""Not measured: a broker just started takes a minute and more of traffic to compile what is hot."""


@dataclass(frozen=True)
class Bench:
    """A broker with topics of its own."""

    settings: Settings
    log: KafkaLog
    directory: Path

    def partitions(self, topic: Topic) -> list[TopicPartition]:
        name = self.settings.prefix + topic.name
        return [TopicPartition(name, p) for p in range(self.settings.partitions)]

    def reader(self, topic: Topic) -> Reader:
        return self.log.reader(dict.fromkeys(self.partitions(topic), 0))


@contextlib.contextmanager
def bench() -> Iterator[Bench]:
    """Broker (a given one, else a temporary one), topics under a random prefix."""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as place:
        settings = replace(Settings.load(), state_dir=Path(place))
        with running_broker(settings) as bootstrap:
            prefix = f"bench-{uuid.uuid4().hex[:8]}."
            settings = replace(settings, bootstrap=bootstrap, prefix=prefix)
            log = KafkaLog(bootstrap, settings.security(), group_of(settings))
            create_topics(log, settings)
            try:
                yield Bench(settings, log, Path(place))
            finally:
                log.delete([n for n in log.topics() if n.startswith(prefix)])
                log.close()


@dataclass
class Worker:
    """One process, and what the kernel says of it."""

    process: subprocess.Popen[bytes]

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory_mb(self, kind: str = "VmRSS") -> float:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(kind):
                return int(line.split()[1]) / 1024
        return 0.0


@contextlib.contextmanager
def worker(bench: Bench, module: str, name: str) -> Iterator[Worker]:
    """Run `python -m module` on the benchmark's broker; its output goes to a file."""
    environment = {
        **os.environ,
        "HEADRACE_BOOTSTRAP": bench.settings.bootstrap or "",
        "HEADRACE_PREFIX": bench.settings.prefix,
        "HEADRACE_STATE_DIR": str(bench.directory / name),
    }
    output = bench.directory / f"{name}.log"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", *module.split()],
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        try:
            yield Worker(process)
        except TimeoutError as exc:
            raise RuntimeError(f"{exc}; {module} says:\n{output.read_text()[-2000:]}") from exc
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_ready(own: Bench, name: str, limit_s: float = 60) -> None:
    """Until the headrace worker of this name has opened its tasks."""
    ready = own.directory / name / "worker" / READY_FILE
    deadline = time.monotonic() + limit_s
    while not ready.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the worker was not ready after {limit_s} s")
        time.sleep(0.05)


@dataclass(frozen=True)
class Rate:
    """Records per second of wall and of CPU time, between the first and the last one seen."""

    per_s: float
    per_cpu_s: float
    peak_mb: float


def drain(reader: Reader, count: int, running: Worker, limit_s: float) -> Rate:
    """Read until `count` records have come."""
    seen = first = 0
    began = began_cpu = 0.0
    deadline = time.monotonic() + limit_s
    while seen < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{seen} of {count} records after {limit_s} s")
        got = len(reader.poll(0.05))
        if got and not seen:
            began, began_cpu, first = time.monotonic(), running.cpu_s(), got
        seen += got
    wall = time.monotonic() - began
    cpu = running.cpu_s() - began_cpu
    done = max(1, count - first)
    return Rate(done / max(wall, 1e-9), done / max(cpu, 1e-9), running.memory_mb("VmHWM"))


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def medians(rates: list[Rate]) -> Rate:
    return Rate(
        statistics.median(r.per_s for r in rates),
        statistics.median(r.per_cpu_s for r in rates),
        max(r.peak_mb for r in rates),
    )
