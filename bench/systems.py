"""The systems that are compared, and how to run each: headrace, stock Faust, Quix Streams."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench.cluster import Bench, Worker, worker
from bench.results import ROOT
from bench.written import committed
from streams.engine.metrics import RESTORE, RESTORED
from streams.ops.broker import network
from topology.topics import ALL as DECLARED

PEERS = ROOT / ".venv" / "peers" / "bin" / "python"
"""Where `make bench` installs what the peers need: `bench/peers.txt`."""
_RESTORED = re.compile(r'"restore_s": ([0-9.e-]+)')
WORKER = "streams.cli worker"


@dataclass(frozen=True)
class System:
    """A system under comparison.

    module: what to run, with its arguments.  is_headrace: it is headrace itself.
    """

    name: str
    delivery: str
    module: str
    python: str = sys.executable
    is_headrace: bool = False

    @contextmanager
    def running(self, bench: Bench, name: str = "worker") -> Iterator[Worker]:
        with worker(bench, self.module, name, self.python) as process:
            yield process


def systems(peers: Path) -> list[System]:
    """Return the systems to compare.

    peers: the Python that has Quix Streams.
    """
    quix, python = "Quix Streams", str(peers)
    return [
        System("headrace", "exactly once", WORKER, is_headrace=True),
        System("stock Faust", "at least once", "bench.stock_faust"),
        System(quix, "at least once", "bench.quix at-least-once", python),
        System(f"{quix} EO", "exactly once", "bench.quix exactly-once", python),
    ]


class Restored(NamedTuple):
    records: int
    seconds: float


@contextmanager
def restoring(env: Bench, system: System, name: str = "worker") -> Iterator[Worker]:
    """Run the system with an empty state directory."""
    directory = env.directory / name
    shutil.rmtree(directory, ignore_errors=True)
    if not system.is_headrace:
        with system.running(env, name) as process:
            yield process
        return
    (port,) = network.pick_ports([], 1)
    module = f"{system.module} --metrics 127.0.0.1:{port}"
    with worker(env, module, name, system.python) as process:
        process.metrics = f"http://127.0.0.1:{port}/metrics"
        yield process


def restored(env: Bench, system: System, process: Worker, name: str = "worker") -> Restored:
    """Return the records and seconds of the restore; call it once the system has gone on."""
    if process.metrics is not None:
        return scraped(process)
    output = (env.directory / f"{name}.log").read_text(errors="replace")
    took = [float(seconds) for seconds in _RESTORED.findall(output)]
    if not took:
        raise RuntimeError(f"{system.name} did not say how long it restored: {output[-500:]}")
    return Restored(_changelog(env), max(took))


def scraped(process: Worker) -> Restored:
    """Return the records of all tasks, and the seconds of the slowest: they restore in parallel."""
    return Restored(int(sum(process.values(RESTORED.name))), max(process.values(RESTORE.name)))


def _changelog(env: Bench) -> int:
    """Count the records of undeclared topics, which are a peer's changelogs."""
    prefix = env.settings.prefix
    known = {prefix + topic.name for topic in DECLARED}
    changelogs = {
        name: info.partitions
        for name, info in env.log.topics().items()
        if prefix in name and name not in known
        if "changelog" in name
    }
    return sum(1 for name, count in changelogs.items() for _ in committed(env, name, count))
