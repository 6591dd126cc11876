"""Everything on this machine: a broker, the topics, one worker as a process of its own."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from streams.admin import create_topics
from streams.broker import running_broker
from streams.broker.home import Home
from streams.broker.process import Child
from streams.engine.kafka import KafkaLog
from streams.engine.task import group_of
from streams.engine.worker import READY_FILE, worker_directory
from streams.errors import InfrastructureError
from streams.settings import Settings

Progress = Callable[[str], None]
READY_LIMIT_S = 120.0
STOP_PATIENCE_S = 20.0
_LOOK_S = 0.05


class WorkerEnded(InfrastructureError):
    default_advice = "Read its log; what stopped it is said in the last lines."


@dataclass(frozen=True, slots=True)
class System:
    """settings: with the broker's address.  worker: the process.  log: what it prints."""

    settings: Settings
    worker: Child
    log: Path

    def check(self) -> None:
        """Raises WorkerEnded when the worker has ended."""
        if self.worker.exit_code.done():
            raise WorkerEnded(_last_words(self.worker.exit_code.result(), self.log))


@contextmanager
def running_system(settings: Settings, progress: Progress) -> Iterator[System]:
    """For as long as the context lasts.  State stays in the state directory.

    Raises BrokerUnavailable, TopicsMismatch, WorkerEnded.
    """
    settings.state_dir.mkdir(parents=True, exist_ok=True)
    with running_broker(settings, progress=progress) as bootstrap:
        settings = replace(settings, bootstrap=bootstrap)
        log = KafkaLog(bootstrap, settings.security(), group_of(settings))
        try:
            create_topics(log, settings)
        finally:
            log.close()
        progress("topics are there; starting a worker")
        system = _start_worker(settings)
        try:
            _wait(system)
            progress("the worker is ready")
            yield system
        finally:
            progress("stopping the worker")
            system.worker.process.end(STOP_PATIENCE_S)


def _start_worker(settings: Settings) -> System:
    (worker_directory(settings) / READY_FILE).unlink(missing_ok=True)
    log = settings.state_dir / "worker.log"
    options = ["--bootstrap", str(settings.bootstrap), "--state-dir", str(settings.state_dir)]
    command = [sys.executable, "-m", "streams.cli", "worker", "--static", *options]
    return System(settings, Child(command, log, bound=True), log)


def _wait(system: System) -> None:
    ready = worker_directory(system.settings) / READY_FILE
    deadline = time.monotonic() + READY_LIMIT_S
    while not ready.exists():
        system.check()
        if time.monotonic() > deadline:
            raise WorkerEnded(f"the worker was not ready after {READY_LIMIT_S:.0f} s: {system.log}")
        time.sleep(_LOOK_S)


def _last_words(code: int, log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    said = lines[-1].removeprefix("headrace: ") if lines else "it said nothing"
    return f"the worker ended with {code} ({log}): {said}"


@contextmanager
def temporary_system(settings: Settings, progress: Progress) -> Iterator[System]:
    """A system of its own, gone without a trace afterwards."""
    home = Home(settings.state_dir)
    with tempfile.TemporaryDirectory(prefix="headrace-") as folder:
        own = replace(settings, bootstrap=None, state_dir=Path(folder))
        kept = Home(own.state_dir)
        kept.make()
        if home.classpath.exists():
            shutil.copy(home.classpath, kept.classpath)
        with running_system(own, progress) as system:
            if kept.classpath.exists():
                home.make()
                shutil.copy(kept.classpath, home.classpath)
            yield system
