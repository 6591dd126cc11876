"""Changes on their way in and outcomes on their way out: backlogs, steady loads, and the clock."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, Self

import confluent_kafka as ck

from bench.cluster import TICKS, Bench, Worker
from bench.neutral.workload import CHANGES, OUTCOMES, changes, read, write
from streams.engine.records import TopicPartition
from topology.keys import partition_of

LIMIT_S = 900.0
QUIET_S = 60.0
"""Outcomes that are missing after this silence are lost; it exceeds every session timeout."""
START_S = 180.0
"""How long a system may take to its first outcome: a JVM on a busy machine is slow to start."""
AFTER_S = 3.0
"""How long the load goes on after a pause."""
MOST = 50_000
_FEW, _MANY = 500, 5000


@cache
def encoded(count: int) -> list[tuple[bytes, bytes]]:
    """Return the keys and values of a backlog."""
    return [(each["ticket"].encode(), write("change", each)) for each in changes(count)]


def fill(env: Bench, count: int) -> None:
    """Write a backlog."""
    producer = ck.Producer(
        {
            "bootstrap.servers": env.settings.bootstrap,
            "linger.ms": 50,
            "queue.buffering.max.messages": 2 * MOST,
        }
    )
    topic, partitions = env.settings.prefix + CHANGES, env.settings.partitions
    for number, (key, value) in enumerate(encoded(count)):
        producer.produce(topic, value, key, partition_of(key, partitions))
        if number % MOST == 0:
            producer.flush(LIMIT_S)
    if producer.flush(LIMIT_S):
        raise TimeoutError("the backlog was not written")


class Outcomes:
    """A reader of all outcomes."""

    def __init__(self, env: Bench, isolation: str = "read_committed") -> None:
        self._topic = env.settings.prefix + OUTCOMES
        self._partitions = range(env.settings.partitions)
        self._consumer = ck.Consumer(
            {
                "bootstrap.servers": env.settings.bootstrap,
                "group.id": env.settings.prefix,
                "enable.auto.commit": False,
                "isolation.level": isolation,
                "fetch.wait.max.ms": 20,
            }
        )
        self._consumer.assign([ck.TopicPartition(self._topic, p, 0) for p in self._partitions])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def poll(self, timeout_s: float, limit: int = _MANY) -> list[bytes | None]:
        """Return the values that have come."""
        messages = self._consumer.consume(limit, timeout_s)
        for message in messages:
            if message.error() is not None:
                raise RuntimeError(str(message.error()))
        return [message.value() for message in messages]

    def until_end(self, env: Bench) -> list[bytes | None]:
        """Return all values up to the end of the log, from where this reader is."""
        ends = env.log.ends([TopicPartition(self._topic, p) for p in self._partitions])
        values: list[bytes | None] = []
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            values += self.poll(0.2)
            if self._reached(ends):
                return values
        raise TimeoutError("the outcomes were not read to their end")

    def _reached(self, ends: dict[TopicPartition, int]) -> bool:
        placed: Sequence[Any] = self._consumer.position(
            [ck.TopicPartition(tp.topic, tp.partition) for tp in ends]
        )
        return all(max(0, p.offset) >= ends[TopicPartition(p.topic, p.partition)] for p in placed)


class Race(NamedTuple):
    """Rates over a backlog: of the whole life of the process, and of its second half."""

    events_per_s: float
    events_per_cpu_s: float
    warm_per_s: float
    warm_per_cpu_s: float
    peak_mb: float


class Mark(NamedTuple):
    """A moment of a race."""

    seen: int
    at: float
    cpu_s: float


def race(reader: Outcomes, count: int, running: Worker) -> Race:
    """Read until `count` outcomes have been written, committed or not."""
    seen = 0
    start = half = None
    deadline = time.monotonic() + LIMIT_S
    while seen < count:
        if time.monotonic() > deadline or running.ended():
            raise TimeoutError(f"{seen} of {count} outcomes")
        arrived = len(reader.poll(0.05, _FEW))
        seen += arrived
        if arrived and start is None:
            start = _mark(seen, running)
        if half is None and seen >= count / 2:
            half = _mark(seen, running)
    end = _mark(seen, running)
    return rates(start or end, half or end, end, running.memory_mb("VmHWM"))


def rates(start: Mark, half: Mark, end: Mark, peak_mb: float) -> Race:
    """Return the rates between moments; CPU counts from the start of the process."""
    wall, warm_wall = end.at - start.at, end.at - half.at
    warm = end.seen - half.seen
    return Race(
        (end.seen - start.seen) / max(wall, 1e-9),
        end.seen / max(end.cpu_s, 1 / TICKS),
        warm / max(warm_wall, 1e-9),
        warm / max(end.cpu_s - half.cpu_s, 1 / TICKS),
        peak_mb,
    )


def _mark(seen: int, running: Worker) -> Mark:
    return Mark(seen, time.monotonic(), running.cpu_s())


def finish(reader: Outcomes, count: int, running: Worker) -> None:
    """Wait until `count` outcomes are committed, or none has come for a while."""
    seen, changed = 0, time.monotonic()
    while seen < count and time.monotonic() - changed < QUIET_S and not running.ended():
        if arrived := len(reader.poll(0.2)):
            seen, changed = seen + arrived, time.monotonic()


class Traffic:
    """A steady load, from when the system has decided its first change, until the block ends.

    sent, arrived: times by number.  values: of all outcomes.  partitions: by number, of the change.
    """

    def __init__(self, env: Bench, rate: int, running: Worker) -> None:
        self.sent: list[float] = []
        self.partitions: list[int] = []
        self.arrived: dict[int, float] = {}
        self.values: list[bytes | None] = []
        self._topic, self._count = env.settings.prefix + CHANGES, env.settings.partitions
        self._rate, self._running = rate, running
        self._changes = changes(1 << 62)
        self._producer = ck.Producer({"bootstrap.servers": env.settings.bootstrap, "linger.ms": 0})
        self._go, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._send_steadily)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._go.set()
        self._thread.join()
        self._producer.flush(30)

    def _send(self) -> None:
        change = next(self._changes)
        key = change["ticket"].encode()
        value = write("change", change)
        partition = partition_of(key, self._count)
        self.partitions.append(partition)
        self.sent.append(time.perf_counter())
        self._producer.produce(self._topic, value, key, partition)
        self._producer.poll(0)

    def _send_steadily(self) -> None:
        self._send()
        self._go.wait()
        began, first = time.perf_counter(), len(self.sent)
        while not self._stop.is_set():
            due = began + (len(self.sent) - first) / self._rate
            while (left := due - time.perf_counter()) > 0:
                self._producer.poll(min(0.002, left))
            self._send()

    def read(self, reader: Outcomes) -> int:
        """Note the outcomes that have come; return how many."""
        values = reader.poll(0.005, 1)
        now = time.perf_counter()
        for value in values:
            self.arrived.setdefault(read("outcome", value or b"")["number"], now)
        self.values += values
        if values:
            self._go.set()
        return len(values)

    def follow(self, reader: Outcomes, count: int) -> None:
        """Read until outcomes of `count` changes have come.  Raises TimeoutError."""
        changed = time.monotonic()
        while len(self.arrived) < count:
            if self.read(reader):
                changed = time.monotonic()
            quiet_s = QUIET_S if self.arrived else START_S
            if time.monotonic() - changed > quiet_s or self._running.ended():
                raise TimeoutError(f"{len(self.arrived)} of {count} outcomes")

    def complete(self, reader: Outcomes) -> None:
        """Read until every change that was sent has an outcome, or none comes any more."""
        changed = time.monotonic()
        while len(self.arrived) < len(self.sent) and time.monotonic() - changed < QUIET_S:
            if self.read(reader):
                changed = time.monotonic()


def pause_after(moment: float, traffic: Traffic, reader: Outcomes, partitions: int) -> float:
    """Read until each partition has an outcome of a change sent after the moment, and then some.

    Returns seconds from the moment until the last partition had one.  Raises TimeoutError.
    """
    deadline = time.monotonic() + LIMIT_S
    first: dict[int, float] = {}
    looked = next((n for n, at in enumerate(traffic.sent) if at > moment), len(traffic.sent))
    while len(first) < partitions:
        if time.monotonic() > deadline:
            raise TimeoutError(f"only {len(first)} of {partitions} partitions went on")
        traffic.read(reader)
        for number in range(looked, len(traffic.sent)):
            if number in traffic.arrived:
                first.setdefault(traffic.partitions[number], traffic.arrived[number])
    after = time.monotonic() + AFTER_S
    while time.monotonic() < after:
        traffic.read(reader)
    return max(first.values()) - moment
