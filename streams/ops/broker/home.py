"""The broker's part of the state directory: its files, its process, and the lock for starting."""

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
    """The status of a broker.

    bootstrap: host:port, None if the local broker never ran.  data, log: of a local broker.
    """

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
    """The directory `<state_dir>/kafka`."""

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
            stored = json.loads(self._started.read_text())
            process = Process(int(stored["pid"]), int(stored["ticks"]))
            return Started(process, int(stored["port"]), str(stored["cluster_id"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def running(self) -> Started | None:
        last = self.last()
        return last if last is not None and last.process.alive() else None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock for starting and stopping.  It is released when the process ends."""
        self.make()
        with (self.path / "lock").open("w") as lock:
            deadline = time.monotonic() + _LOCK_LIMIT_S
            while not _try_lock(lock.fileno()):
                if time.monotonic() > deadline:
                    raise BrokerUnavailable(
                        f"another process has been starting a broker in {self.path} "
                        f"for {_LOCK_LIMIT_S} s"
                    )
                time.sleep(0.05)
            yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
