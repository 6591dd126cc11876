"""What the machine offers: Java, Maven and Docker for a local broker, ports, the disk."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from streams.errors import ExtraMissing, SettingsError
from streams.ops.broker import jars
from streams.ops.broker.home import Home
from streams.ops.doctor.findings import Finding, fail, failed, ok, warn
from streams.settings import Settings
from streams.settings.addresses import Address, address_file, answers, gateway_directory

MIB = 1 << 20
ROOM_LEAST = 256 * MIB
ROOM_ENOUGH = 2048 * MIB
_DOCKER_LIMIT_S = 20
Which = Callable[[str], str | None]


def tools(settings: Settings, which: Which = shutil.which) -> Iterator[Finding]:
    """Look for Java and Maven, or Docker and its extra: a local broker needs them."""
    java, maven, docker = _java(which), _maven(settings, which), _docker(which)
    wanted = "" if settings.bootstrap is None else "; not needed, HEADRACE_BOOTSTRAP is set"
    other = wanted or (docker[0] and "; Docker can stand in")
    for name, (good, said) in (("java", java), ("maven", maven)):
        if good or other:
            yield ok(name, said if good else f"{said}{other}")
        else:
            yield fail(name, said, jars.ADVICE)
    spare = wanted or (java[0] and maven[0] and "; not needed with Java and Maven")
    if docker[0] or spare:
        yield ok("docker", docker[1] if docker[0] else f"{docker[1]}{spare}")
    else:
        yield fail("docker", docker[1], jars.ADVICE)


def _java(which: Which) -> tuple[bool, str]:
    path = which("java")
    if path is None:
        return False, "`java` is not on the PATH"
    major = jars.java_major(path)
    if major is None:
        return False, f"{path} does not run"
    least = "" if major >= jars.JAVA_LEAST else f", and Kafka needs {jars.JAVA_LEAST} or later"
    return not least, f"Java {major} at {path}{least}"


def _maven(settings: Settings, which: Which) -> tuple[bool, str]:
    if jars.cached(Home(settings.state_dir)) is not None:
        return True, "Kafka's jars are there already"
    path = which("mvn")
    return path is not None, f"Maven at {path}" if path else "`mvn` is not on the PATH"


def _docker(which: Which) -> tuple[bool, str]:
    path = which("docker")
    if path is None:
        return False, "`docker` is not on the PATH"
    command = [path, "version", "--format", "{{.Server.Version}}"]
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=_DOCKER_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False, "`docker` does not answer"
    if ran.returncode != 0:
        return False, "no Docker daemon answers"
    missing = _extra_missing()
    return not missing, f"Docker {ran.stdout.strip()}{missing}"


def _extra_missing() -> str:
    try:
        import_module("streams.ops.broker.container")
    except ExtraMissing as exc:
        return f"; {exc.message}"
    return ""


def ports(settings: Settings) -> Iterator[Finding]:
    yield _gateway_port(settings)
    if settings.bootstrap is not None:
        yield ok("broker port", "not needed, HEADRACE_BOOTSTRAP is set")
        return
    local = Home(settings.state_dir).running()
    if local is not None:
        yield ok("broker port", f"the local broker listens on {local.bootstrap}")
    elif _free("127.0.0.1", settings.broker_port):
        yield ok("broker port", f"127.0.0.1:{settings.broker_port} is free")
    else:
        yield warn(
            "broker port",
            f"127.0.0.1:{settings.broker_port} is taken",
            "A local broker takes another port; set HEADRACE_BROKER_PORT to choose it.",
        )


def _gateway_port(settings: Settings) -> Finding:
    try:
        address = Address.parse(settings.gateway)
    except SettingsError as exc:
        return failed("gateway port", exc)
    if address.port == 0 or _free(address.host, address.port):
        return ok("gateway port", f"{settings.gateway} is free")
    kept = address_file(settings)
    if kept.exists() and answers(url := kept.read_text().strip()):
        return ok("gateway port", f"a gateway answers at {url}")
    return fail(
        "gateway port",
        f"{settings.gateway} is taken, or not of this machine",
        "Set HEADRACE_GATEWAY to another address, or stop what listens there.",
    )


def _free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError:
            return False
    return True


def disk(settings: Settings) -> Iterator[Finding]:
    """The state directory: whether it can be written, its room, who has it."""
    directory = settings.state_dir.absolute()
    there = next(path for path in (directory, *directory.parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        advice = "Set HEADRACE_STATE_DIR to a directory that can be written."
        yield fail("state directory", f"{there} cannot be written", advice)
        return
    yield ok(
        "state directory", str(directory) if there == directory else f"{directory}, to be made"
    )
    free = shutil.disk_usage(there).free
    said, advice = f"{free // MIB} MiB are free", "Make room, or set HEADRACE_STATE_DIR."
    if free < ROOM_LEAST:
        yield fail("disk space", f"{said}, and Kafka needs {ROOM_LEAST // MIB}", advice)
    elif free < ROOM_ENOUGH:
        yield warn("disk space", said, advice)
    else:
        yield ok("disk space", said)
    yield _users(settings)


def _users(settings: Settings) -> Finding:
    from streams.engine.worker import worker_directory

    places: dict[str, Path] = {
        "a worker": worker_directory(settings),
        "a gateway": gateway_directory(settings) / "view",
    }
    held = [f"{who} ({pid})" for who, path in places.items() if (pid := _holder(path)) is not None]
    said = f"in use by {' and '.join(held)}" if held else "nobody uses the state directory"
    return ok("locks", said)


def _holder(directory: Path) -> str | None:
    """Who has the lock of a directory, as its file says; None when nobody has."""
    try:
        with (directory / "lock").open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read().strip() or "another process"
    except OSError:
        return None
    return None
