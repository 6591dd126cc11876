"""The systems on the neutral workload, and how to run each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.cluster import Bench, Worker, started
from bench.neutral import kafka_streams
from streams.engine.task import group_of

STEPS = ("throughput", "latency", "kill")
EXACTLY, AT_LEAST = "exactly once", "at least once"


@dataclass(frozen=True)
class System:
    """A system on the neutral workload.

    group: names its consumer group.  share: the part of the events that it gets; one that is slower
    by an order of magnitude gets fewer.
    """

    name: str
    delivery: str
    command: Sequence[str]
    group: Callable[[Bench], str]
    share: float = 1.0
    steps: tuple[str, ...] = STEPS

    @property
    def repeats(self) -> bool:
        """Return whether it may do things again after a kill."""
        return self.delivery == AT_LEAST

    @contextmanager
    def running(self, env: Bench, name: str = "worker") -> Iterator[Worker]:
        with started(env, self.command, name) as process:
            yield process


def systems(peers: Path) -> list[System]:
    """Return the systems.  peers: the Python that has Quix Streams."""
    worker = [sys.executable, "-m", "bench.neutral.headrace_worker"]
    quix = [str(peers), "-m", "bench.neutral.quix_streams"]
    faust = [sys.executable, "-m", "bench.neutral.stock_faust"]
    often = kafka_streams.command("commit.interval.ms=10")
    return [
        System("headrace", EXACTLY, worker, _own),
        System("headrace, as a fact", EXACTLY, [*worker, "fact"], _own, steps=("throughput",)),
        System("Kafka Streams", EXACTLY, kafka_streams.command(), _suffix("kstreams")),
        System(
            "Kafka Streams, commit 10 ms", EXACTLY, often, _suffix("kstreams"), steps=("latency",)
        ),
        System("Quix Streams", EXACTLY, quix, _suffix("quix")),
        System("stock Faust", AT_LEAST, faust, _suffix("stock-faust"), 0.02),
    ]


def _own(env: Bench) -> str:
    return group_of(env.settings)


def _suffix(name: str) -> Callable[[Bench], str]:
    def group(env: Bench) -> str:
        return env.settings.prefix + name

    return group
