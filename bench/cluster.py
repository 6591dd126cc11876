"""The benchmarks' environment: a broker, fresh topics, worker processes and what they cost."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from streams.engine.kafka import KafkaLog
from streams.engine.log import NewTopic, Reader
from streams.engine.records import TopicPartition
from streams.engine.task import group_of
from streams.engine.worker import READY_FILE
from streams.ops.broker import running_broker
from streams.ops.topics import create_topics
from streams.settings import Settings
from tests.processes import ROOT, named
from topology.declarations import Topic

TICKS = os.sysconf("SC_CLK_TCK")
WARM_UP_S = 90
"""Traffic before the measurement: a new broker takes more than a minute to compile hot code."""

HELD_S = 8.0
"""The longest stop of workers: shorter than the session timeout of every system compared."""


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
def broker() -> Iterator[Settings]:
    """Yield settings with the configured broker, else with a temporary one."""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as place:
        settings = replace(Settings.load(), state_dir=Path(place))
        with running_broker(settings) as bootstrap:
            yield replace(settings, bootstrap=bootstrap)


@contextlib.contextmanager
def bench(
    on: Settings | None = None, topics: Callable[[str], list[NewTopic]] | None = None
) -> Iterator[Bench]:
    """Create topics under a random prefix, on this broker or on a temporary one.

    topics: what to create under a prefix, instead of all that is declared.
    """
    with contextlib.ExitStack() as stack:
        settings = on or stack.enter_context(broker())
        place = stack.enter_context(tempfile.TemporaryDirectory(prefix="headrace-bench-"))
        prefix = f"bench-{uuid.uuid4().hex[:8]}."
        settings = replace(settings, prefix=prefix, state_dir=Path(place))
        log = KafkaLog(settings.bootstrap or "", settings.security(), group_of(settings))
        stack.callback(log.close)
        if topics is None:
            create_topics(log, settings)
        else:
            log.create(topics(prefix))
        try:
            yield Bench(settings, log, Path(place))
        finally:  # peers' changelogs have the prefix within their names
            log.delete([name for name in log.topics() if prefix in name])


@dataclass
class Worker:
    """One process, and what the kernel says of it.  metrics: where it serves its figures."""

    process: subprocess.Popen[bytes]
    metrics: str | None = None

    def ended(self) -> bool:
        return self.process.poll() is not None

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory_mb(self, kind: str = "VmRSS") -> float:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(kind):
                return int(line.split()[1]) / 1024
        return 0.0

    def threads(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))

    def files(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def values(self, name: str) -> list[float]:
        """Return the values of this metric with any labels, as it is served now."""
        with urllib.request.urlopen(self.metrics or "", timeout=10) as answer:
            text = answer.read().decode()
        return [float(v) for v in re.findall(rf"^{name}{{[^}}]*}} (\S+)$", text, re.MULTILINE)]


@dataclass
class Crew:
    """Several workers as one: the CPU of all, the memory of the largest."""

    workers: list[Worker]

    def ended(self) -> bool:
        return any(each.ended() for each in self.workers)

    def cpu_s(self) -> float:
        return sum(each.cpu_s() for each in self.workers)

    def memory_mb(self, kind: str = "VmRSS") -> float:
        return max(each.memory_mb(kind) for each in self.workers)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Stop the workers, so that they all get what is written meanwhile as a backlog at once.

        Raises RuntimeError when that took so long that their group may have gone on without them.
        """
        began = time.monotonic()
        try:
            for each in self.workers:
                each.process.send_signal(signal.SIGSTOP)
            yield
        finally:
            for each in self.workers:
                each.process.send_signal(signal.SIGCONT)
        if time.monotonic() - began > HELD_S:
            raise RuntimeError(f"the workers were held for more than {HELD_S:.0f} s")


@contextlib.contextmanager
def worker(
    bench: Bench,
    module: str,
    name: str,
    python: str = sys.executable,
    more: Mapping[str, str] | None = None,
) -> Iterator[Worker]:
    """Run `python -m module` on the benchmark's broker; its output goes to a file.

    more: settings besides, without HEADRACE_.
    """
    with started(bench, [python, "-m", *module.split()], name, more) as process:
        yield process


@contextlib.contextmanager
def started(
    bench: Bench, command: Sequence[str], name: str, more: Mapping[str, str] | None = None
) -> Iterator[Worker]:
    """Run a command that reads its settings from the environment, as `worker` does."""
    base = bench.settings
    settings = {
        "BOOTSTRAP": base.bootstrap or "",
        "PREFIX": base.prefix,
        "PARTITIONS": str(base.partitions),
        "STATE_DIR": str(bench.directory / name),
        **(more or {}),
    }
    output = bench.directory / f"{name}.log"
    with output.open("wb") as file:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **named(settings)},
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        try:
            yield Worker(process)
        except TimeoutError as exc:
            last_output = output.read_text(errors="replace")[-2000:]
            raise RuntimeError(f"{exc}; {name} says:\n{last_output}") from exc
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_ready(env: Bench, name: str, limit_s: float = 60) -> None:
    """Wait until the headrace worker of this name has opened its tasks."""
    ready = env.directory / name / "worker" / READY_FILE
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


class Polled(Protocol):
    """A source that returns the next records, or an empty list."""

    def poll(self, timeout_s: float, /) -> Sequence[object]: ...


def drain(reader: Polled, count: int, running: Worker | Crew, limit_s: float) -> Rate:
    """Read until `count` records have come."""
    seen = first = 0
    began = began_cpu = 0.0
    deadline = time.monotonic() + limit_s
    while seen < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{seen} of {count} records after {limit_s} s")
        if running.ended():
            raise TimeoutError(f"the process has ended, with {seen} of {count} records")
        got = len(reader.poll(0.05))
        if got and not seen:
            began, began_cpu, first = time.monotonic(), running.cpu_s(), got
        seen += got
    wall = time.monotonic() - began
    cpu = running.cpu_s() - began_cpu
    done = max(1, count - first)
    return Rate(done / max(wall, 1e-9), done / max(cpu, 1 / TICKS), running.memory_mb("VmHWM"))


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def percentiles(took_ms: list[float]) -> dict[str, float]:
    """Return the median and the 95th and 99th percentile, as figures of a run."""
    return {f"p{share}_ms": percentile(took_ms, share / 100) for share in (50, 95, 99)}


def medians(rates: list[Rate]) -> Rate:
    return Rate(
        statistics.median(r.per_s for r in rates),
        statistics.median(r.per_cpu_s for r in rates),
        max(r.peak_mb for r in rates),
    )
