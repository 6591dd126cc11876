"""The broker's part of the state directory: its files, who runs on it, and the lock to start."""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from streams.errors import BrokerUnavailable
from streams.ops.broker.process import Process

_LOCK_LIMIT_S = 120


class BrokerStatus(NamedTuple):
    """bootstrap: host:port, None when the local broker never ran.  data, log: of a local one."""

    running: bool
    bootstrap: str | None
    pid: int | None
    data: Path | None
    log: Path | None


class Started(NamedTuple):
    """The broker that was started last; `process` may have ended since."""

    process: Process
    port: int
    cluster_id: str

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"


class Home:
    """`<state_dir>/kafka`."""

    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir.absolute() / "kafka"
        self.data = self.path / "data"
        self.log = self.path / "broker.log"
        self.properties = self.path / "server.properties"
        self.logging = self.path / "log4j2.properties"
        self.classpath = self.path / "classpath"
        self._started = self.path / "broker.json"

    def make(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)

    def save(self, started: Started) -> None:
        text = json.dumps(
            {
                "pid": started.process.pid,
                "ticks": started.process.ticks,
                "port": started.port,
                "cluster_id": started.cluster_id,
            }
        )
        new = self._started.with_suffix(".new")
        new.write_text(text)
        new.replace(self._started)

    def last(self) -> Started | None:
        try:
            kept = json.loads(self._started.read_text())
            process = Process(int(kept["pid"]), int(kept["ticks"]))
            return Started(process, int(kept["port"]), str(kept["cluster_id"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def running(self) -> Started | None:
        last = self.last()
        return last if last is not None and last.process.alive() else None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One starts or stops at a time.  The lock goes with the process that holds it."""
        self.make()
        with (self.path / "lock").open("w") as lock:
            deadline = time.monotonic() + _LOCK_LIMIT_S
            while not _taken(lock.fileno()):
                if time.monotonic() > deadline:
                    raise BrokerUnavailable(
                        f"another process has been starting a broker in {self.path} "
                        f"for {_LOCK_LIMIT_S} s"
                    )
                time.sleep(0.05)
            yield


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
