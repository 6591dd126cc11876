"""Apache Kafka as a process of this machine, its data under the state directory."""

from __future__ import annotations

import base64
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from streams.errors import BrokerUnavailable
from streams.ops.broker import config as broker_config
from streams.ops.broker import kafka_distribution, network
from streams.ops.broker.home import BrokerStatus, Home, Started
from streams.ops.broker.process import Child, Process
from streams.settings.service import ServiceSettings

Progress = Callable[[str], None]

READY_LIMIT_S = 60.0
STOP_PATIENCE_S = 20.0
MIN_FREE_BYTES = 256 << 20
_PORT_TRIES = 3
_ENDED_ON_REQUEST = (0, 143, -15)  # exit codes after a SIGTERM


class _PortTaken(BrokerUnavailable):
    """The port was taken by another program after it was found free."""


class Running(NamedTuple):
    """A running broker.  child: None if another process started it."""

    started: Started
    child: Child | None


@contextmanager
def running(
    settings: ServiceSettings, progress: Progress, config: Mapping[str, str]
) -> Iterator[str]:
    """Reuse the broker of this state directory, or run one while the context is open."""
    broker = start(settings, progress, config, bound=True)
    try:
        yield broker.started.bootstrap
    finally:
        if broker.child is not None:
            broker.started.process.end(STOP_PATIENCE_S)


def run(settings: ServiceSettings, foreground: bool, progress: Progress) -> BrokerStatus:
    home = Home(settings.state_dir)
    broker = start(settings, progress, {}, bound=foreground)
    if foreground and broker.child is not None:
        try:
            code = broker.child.exit_code.result()
        finally:
            broker.started.process.end(STOP_PATIENCE_S)
        if code not in _ENDED_ON_REQUEST:
            raise _exit_error(home)
    return status(home)


def stop(home: Home, progress: Progress) -> bool:
    if home.running() is None:
        return False
    with home.locked():  # waits for a start in progress
        last = home.running()
        if last is None:
            return False
        progress(f"stopping Kafka on {last.bootstrap}")
        last.process.end(STOP_PATIENCE_S)
        return True


def status(home: Home) -> BrokerStatus:
    last = home.last()
    if last is None:
        return BrokerStatus(False, None, None, home.data, home.log)
    alive = last.process.alive()
    answers = alive and network.cluster_id(last.port) == last.cluster_id
    pid = last.process.pid if alive else None
    return BrokerStatus(answers, last.bootstrap, pid, home.data, home.log)


def start(
    settings: ServiceSettings, progress: Progress, config: Mapping[str, str], *, bound: bool
) -> Running:
    """Start a broker, or reuse the running one, and wait until it is ready.

    bound: a broker that this process starts ends with this process.
    """
    home = Home(settings.state_dir)
    try:
        with home.locked():
            last = home.running()
            if last is not None:
                _wait(home, last)
                progress(f"Kafka runs already on {last.bootstrap}")
                return Running(last, None)
            return _start(home, settings.broker_port, progress, config, bound)
    except OSError as exc:
        raise BrokerUnavailable(
            f"the broker's files in {home.path} cannot be written: {exc.strerror or exc}",
            advice="Make room there, or set HEADRACE_STATE_DIR to another directory.",
        ) from exc


def _start(
    home: Home, preferred_port: int, progress: Progress, config: Mapping[str, str], bound: bool
) -> Running:
    """Start a broker on free ports; try again if another program takes them in the meantime."""
    for _ in range(_PORT_TRIES - 1):
        try:
            return _start_on_free_ports(home, preferred_port, progress, config, bound)
        except _PortTaken as exc:
            progress(str(exc))
    return _start_on_free_ports(home, preferred_port, progress, config, bound)


def _start_on_free_ports(
    home: Home, preferred_port: int, progress: Progress, config: Mapping[str, str], bound: bool
) -> Running:
    started_at = time.monotonic()
    _require_room(home.path)
    java = kafka_distribution.java()
    classpath = kafka_distribution.classpath(home, progress)
    last = home.last()
    port, controller_port = network.pick_ports([preferred_port, *([last.port] if last else [])], 2)
    _write_files(home, config, port, controller_port)
    cluster_id = _format_data(home, java, classpath)
    progress(f"starting Kafka on 127.0.0.1:{port}")
    if home.log.exists():
        home.log.replace(home.log.with_suffix(".log.1"))
    command = java_command(home, java, classpath, "kafka.Kafka", str(home.properties))
    child = Child(command, home.log, bound=bound)
    started = Started(child.process, port, cluster_id)
    home.save(started)
    try:
        _wait(home, started)
    except BaseException:
        child.process.end(STOP_PATIENCE_S)
        raise
    progress(f"Kafka is ready on {started.bootstrap} ({time.monotonic() - started_at:.1f} s)")
    return Running(started, child)


def _require_room(path: Path) -> None:
    free = shutil.disk_usage(path).free
    if free < MIN_FREE_BYTES:
        raise BrokerUnavailable(
            f"only {free >> 20} MiB are free in {path}, and Kafka needs {MIN_FREE_BYTES >> 20}",
            advice="Make room there, or set HEADRACE_STATE_DIR to another directory.",
        )


def _write_files(home: Home, config: Mapping[str, str], port: int, controller_port: int) -> None:
    settings = broker_config.COMMON | broker_config.listeners(port, controller_port)
    settings |= {"log.dirs": str(home.data), **config}
    home.properties.write_text(broker_config.properties(settings))
    home.logging.write_text(broker_config.LOGGING)


def _format_data(home: Home, java: str, classpath: list[str]) -> str:
    """Return the cluster id of the data directory; format the directory first if it is new."""
    meta = home.data / "meta.properties"
    if not meta.exists():
        shutil.rmtree(home.data, ignore_errors=True)  # left by an interrupted format
        tool = ["kafka.tools.StorageTool", "format", "-t", new_cluster_id()]
        command = java_command(home, java, classpath, *tool, "-c", str(home.properties))
        completed = subprocess.run(command, capture_output=True, text=True, check=False)
        if completed.returncode != 0:
            raise _kafka_error(
                f"Kafka could not format {home.data}", completed.stdout + completed.stderr
            )
    entries = (line.partition("=") for line in meta.read_text().splitlines())
    return next(value for name, _, value in entries if name == "cluster.id")


def new_cluster_id() -> str:
    """Return a Kafka uuid: 16 bytes in base64; the first is below 128, so it never begins with
    `-`.
    """
    first, *remaining = uuid.uuid4().bytes
    return base64.urlsafe_b64encode(bytes([first & 127, *remaining])).decode().rstrip("=")


def java_command(home: Home, java: str, classpath: list[str], *arguments: str) -> list[str]:
    """Return the command that runs a class of Kafka's jars with this home's logging settings."""
    logging = f"-Dlog4j2.configurationFile={home.logging.as_uri()}"
    return [java, *broker_config.JVM, logging, "-cp", ":".join(classpath), *arguments]


def _wait(home: Home, started: Started) -> None:
    deadline = time.monotonic() + READY_LIMIT_S
    while network.cluster_id(started.port) != started.cluster_id:
        if Process.of(started.process.pid) != started.process:
            raise _exit_error(home)
        if time.monotonic() > deadline:
            raise BrokerUnavailable(
                f"Kafka (process {started.process.pid}) did not answer on {started.bootstrap} "
                f"within {READY_LIMIT_S:.0f} s",
                advice=f"Read {home.log}, then try `headrace broker stop`.",
            )
        time.sleep(0.05)


_PORT_IN_USE = "Address already in use"
_CAUSES = (
    (_PORT_IN_USE, "its port was taken by another program", "Start it again."),
    ("Failed to acquire lock", "another broker uses its data", "Stop that broker."),
    ("No space left on device", "the disk is full", "Make room on it."),
    ("OutOfMemoryError", f"{broker_config.HEAP} of heap were too little", "Start it again."),
    ("UnsupportedClassVersionError", "this Java is too old", "Install Java 17 or later."),
    ("Could not reserve enough space", "memory is short", "Free some memory."),
)


def _exit_error(home: Home) -> BrokerUnavailable:
    output = home.log.read_text(errors="replace") if home.log.exists() else ""
    return _kafka_error(f"Kafka ended (log: {home.log})", output)


def _kafka_error(what: str, output: str) -> BrokerUnavailable:
    """Return an error with a known cause, else Kafka's first exception or last line."""
    for mark, cause, advice in _CAUSES:
        if mark in output:
            kind = _PortTaken if mark == _PORT_IN_USE else BrokerUnavailable
            return kind(f"{what}: {cause}", advice=advice)
    lines = output.strip().splitlines() or ["it said nothing"]
    reason = next((line for line in lines if "Exception" in line), lines[-1])
    return BrokerUnavailable(f"{what}: {reason}", advice="Set HEADRACE_STATE_DIR to a new one.")
