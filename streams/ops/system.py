"""A complete system on this machine: a broker, the topics, a worker and a gateway process, and an
exporter of spans where OpenTelemetry's variables name a backend."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from streams.engine.kafka import KafkaLog
from streams.engine.task import group_of
from streams.engine.worker import READY_FILE, worker_directory
from streams.errors import InfrastructureError
from streams.ops.broker import running_broker
from streams.ops.broker.home import Home
from streams.ops.broker.process import Child
from streams.ops.topics import create_topics
from streams.registry.binding import register_schemas
from streams.settings import Settings
from streams.settings.addresses import running_url

Progress = Callable[[str], None]
READY_LIMIT_S = 120.0
STOP_PATIENCE_S = 20.0
ANY_PORT = "127.0.0.1:0"
_POLL_S = 0.05


class PartEnded(InfrastructureError):
    default_advice = "Read its log; what stopped it is said in the last lines."


@dataclass(frozen=True, slots=True)
class Part:
    """One of the processes.  log: the file with its output."""

    name: str
    child: Child
    log: Path

    @property
    def pid(self) -> int:
        return self.child.process.pid

    def check(self) -> None:
        """Raise PartEnded if it has ended."""
        if self.child.exit_code.done():
            code = self.child.exit_code.result()
            raise PartEnded(f"the {self.name} ended with {code} ({self.log}): {self._last_line()}")

    def _last_line(self) -> str:
        lines = self._lines()
        return lines[-1].removeprefix("headrace: ") if lines else "it said nothing"

    def _lines(self) -> list[str]:
        if not self.log.exists():
            return []
        return self.log.read_text(errors="replace").strip().splitlines()

    def output_line(self, word: str) -> str | None:
        """Return the text after a word in the first output line that begins with it, else None."""
        matching = (line for line in self._lines() if line.startswith(f"{word} "))
        return next((line.removeprefix(f"{word} ") for line in matching), None)


@dataclass(frozen=True, slots=True)
class System:
    """A running system.

    settings: with the broker's address.  url: of the gateway.  exporter: of spans, if one runs.
    """

    settings: Settings
    worker: Part
    gateway: Part
    url: str
    exporter: Part | None = None

    @property
    def parts(self) -> list[Part]:
        every = (self.worker, self.gateway, self.exporter)
        return [part for part in every if part is not None]

    def check(self) -> None:
        """Raise PartEnded if one of the processes has ended."""
        for part in self.parts:
            part.check()


@contextmanager
def running_system(
    settings: Settings, progress: Progress, exports_spans: bool = False
) -> Iterator[System]:
    """Run a system while the context is open.  State stays in the state directory.

    exports_spans: with an exporter of spans.

    Raises BrokerUnavailable, ExtraMissing, TopicsMismatch, PartEnded.
    """
    settings.state_dir.mkdir(parents=True, exist_ok=True)
    with running_broker(settings, progress=progress) as bootstrap, ExitStack() as stack:
        settings = replace(settings, bootstrap=bootstrap)
        log = KafkaLog(bootstrap, settings.security(), group_of(settings))
        try:
            register_schemas(settings, progress)
            create_topics(log, settings)
        finally:
            log.close()
        progress("topics are there; starting a worker and a gateway")
        (worker_directory(settings) / READY_FILE).unlink(missing_ok=True)
        metrics = ("--metrics", settings.metrics or "off")  # else a child reads the environment
        worker = stack.enter_context(
            _run_part(settings, progress, "worker", ("worker", "--static", *metrics))
        )
        listen = ("--listen", settings.gateway)
        gateway = stack.enter_context(
            _run_part(settings, progress, "gateway", ("gateway", *listen))
        )
        ready = worker_directory(settings) / READY_FILE
        _wait([worker, gateway], lambda: ready.exists(), "the worker")
        progress("the worker is ready")
        _wait([worker, gateway], lambda: gateway.output_line("gateway"), "the gateway")
        progress("the gateway is ready")
        exporter = None
        if exports_spans:
            command = ("export", "otlp", "--metrics", "off")
            part = stack.enter_context(_run_part(settings, progress, "exporter", command))
            _wait([part], lambda: part.output_line("exporting"), "the exporter")
            exporter = part
        yield System(settings, worker, gateway, gateway.output_line("gateway") or "", exporter)


@contextmanager
def _run_part(
    settings: Settings, progress: Progress, name: str, arguments: Sequence[str]
) -> Iterator[Part]:
    """Run a process while the context is open.  arguments: of `headrace`."""
    log = settings.state_dir / f"{name}.log"
    options = ["--bootstrap", str(settings.bootstrap), "--state-dir", str(settings.state_dir)]
    command = [sys.executable, "-m", "streams.cli", *arguments, *options]
    part = Part(name, Child(command, log, bound=True), log)
    try:
        yield part
    finally:
        progress(f"stopping the {name}")
        part.child.process.end(STOP_PATIENCE_S)


def _wait(parts: list[Part], ready: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + READY_LIMIT_S
    while not ready():
        for part in parts:
            part.check()
        if time.monotonic() > deadline:
            raise PartEnded(f"{what} was not ready after {READY_LIMIT_S:.0f} s")
        time.sleep(_POLL_S)


@contextmanager
def temporary_system(settings: Settings, progress: Progress) -> Iterator[System]:
    """Run a system in a temporary state directory, which is removed afterwards."""
    home = Home(settings.state_dir)
    with tempfile.TemporaryDirectory(prefix="headrace-") as folder:
        temporary = replace(settings, bootstrap=None, state_dir=Path(folder), gateway=ANY_PORT)
        temporary = replace(temporary, metrics=None)  # its address may be another worker's
        temporary_home = Home(temporary.state_dir)
        temporary_home.make()
        if home.classpath.exists():
            shutil.copy(home.classpath, temporary_home.classpath)
        with running_system(temporary, progress) as system:
            if temporary_home.classpath.exists():
                home.make()
                shutil.copy(temporary_home.classpath, home.classpath)
            yield system


@contextmanager
def running_gateway(settings: Settings, progress: Progress) -> Iterator[str]:
    """Yield the address of this state directory's gateway; without one, run a temporary gateway.

    Raises PartEnded.
    """
    if (url := running_url(settings)) is not None:
        yield url
        return
    with tempfile.TemporaryDirectory(prefix="headrace-") as folder:
        temporary = replace(settings, state_dir=Path(folder))
        with _run_part(
            temporary, progress, "gateway", ("gateway", "--listen", ANY_PORT)
        ) as gateway:
            _wait([gateway], lambda: gateway.output_line("gateway"), "the gateway")
            yield gateway.output_line("gateway") or ""
