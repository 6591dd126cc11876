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
_SAID = re.compile(r'"restore_s": ([0-9.e-]+)')
WORKER = "streams.cli worker"


@dataclass(frozen=True)
class System:
    """module: what to run, with its arguments.  own: it is headrace itself."""

    name: str
    delivery: str
    module: str
    python: str = sys.executable
    own: bool = False

    @contextmanager
    def running(self, bench: Bench, name: str = "worker") -> Iterator[Worker]:
        with worker(bench, self.module, name, self.python) as process:
            yield process


def systems(peers: Path) -> list[System]:
    """peers: the Python that has Quix Streams."""
    quix, python = "Quix Streams", str(peers)
    return [
        System("headrace", "exactly once", WORKER, own=True),
        System("stock Faust", "at least once", "bench.stock_faust"),
        System(quix, "at least once", "bench.quix at-least-once", python),
        System(f"{quix} EO", "exactly once", "bench.quix exactly-once", python),
    ]


class Restored(NamedTuple):
    records: int
    seconds: float


@contextmanager
def restoring(own: Bench, system: System, name: str = "worker") -> Iterator[Worker]:
    """The system with an empty state directory."""
    place = own.directory / name
    shutil.rmtree(place, ignore_errors=True)
    if not system.own:
        with system.running(own, name) as process:
            yield process
        return
    (port,) = network.pick_ports([], 1)
    module = f"{system.module} --metrics 127.0.0.1:{port}"
    with worker(own, module, name, system.python) as process:
        process.metrics = f"http://127.0.0.1:{port}/metrics"
        yield process


def restored(own: Bench, system: System, process: Worker, name: str = "worker") -> Restored:
    """What that took; ask once it has gone on."""
    if process.metrics is not None:
        return scraped(process)
    said = (own.directory / f"{name}.log").read_text(errors="replace")
    took = [float(seconds) for seconds in _SAID.findall(said)]
    if not took:
        raise RuntimeError(f"{system.name} did not say how long it restored: {said[-500:]}")
    return Restored(_changelog(own), max(took))


def scraped(process: Worker) -> Restored:
    """Records of all tasks, and the seconds of the slowest: they restore side by side."""
    return Restored(int(sum(process.values(RESTORED.name))), max(process.values(RESTORE.name)))


def _changelog(own: Bench) -> int:
    """Records of the topics that nobody declared: a peer's changelogs."""
    prefix = own.settings.prefix
    known = {prefix + topic.name for topic in DECLARED}
    found = {
        name: info.partitions
        for name, info in own.log.topics().items()
        if prefix in name and name not in known
        if "changelog" in name
    }
    return sum(1 for name, count in found.items() for _ in committed(own, name, count))
