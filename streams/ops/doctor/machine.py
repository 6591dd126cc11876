"""Checks of the machine: the codec, the policy, what a local broker needs, ports, the disk."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from schemas import native
from streams.errors import ExtraMissing, SettingsError
from streams.ops.broker import kafka_distribution
from streams.ops.broker.home import Home
from streams.ops.doctor.findings import Check, fail, failed, ok, warn
from streams.settings import Settings
from streams.settings.addresses import Address, gateway_directory, running_url

MIB = 1 << 20
MIN_FREE = 256 * MIB
ENOUGH_FREE = 2048 * MIB
_DOCKER_LIMIT_S = 20
Which = Callable[[str], str | None]


def codec(settings: Settings) -> Iterator[Check]:
    """Say which codec is in use; Python's is a third as fast, and right all the same."""
    if native.is_outdated():
        advice = "Install the one of this version: `make native` in a checkout."
        yield warn("codec", native.describe(), advice)
    else:
        yield ok("codec", native.describe())


def policy(settings: Settings) -> Iterator[Check]:
    """Name the policy of these settings; all machines of a system ought to have the same."""
    from streams.policy import policy_of

    try:
        policy = policy_of(settings)
    except SettingsError as exc:
        yield failed("policy", exc)
        return
    count = len(policy.values)
    other = f"members with other than their default: {count}" if count else "all defaults"
    yield ok("policy", f"{policy.id}, {other}")


def tools(settings: Settings, which: Which = shutil.which) -> Iterator[Check]:
    """Check for Java and Maven, or Docker and its extra: a local broker needs them."""
    java, maven, docker = _check_java(which), _check_maven(settings, which), _check_docker(which)
    not_needed = "" if settings.bootstrap is None else "; not needed, HEADRACE_BOOTSTRAP is set"
    other = not_needed or (docker[0] and "; Docker can stand in")
    for name, (good, message) in (("java", java), ("maven", maven)):
        if good or other:
            yield ok(name, message if good else f"{message}{other}")
        else:
            yield fail(name, message, kafka_distribution.ADVICE)
    spare = not_needed or (java[0] and maven[0] and "; not needed with Java and Maven")
    if docker[0] or spare:
        yield ok("docker", docker[1] if docker[0] else f"{docker[1]}{spare}")
    else:
        yield fail("docker", docker[1], kafka_distribution.ADVICE)


def _check_java(which: Which) -> tuple[bool, str]:
    path = which("java")
    if path is None:
        return False, "`java` is not on the PATH"
    major = kafka_distribution.java_major(path)
    if major is None:
        return False, f"{path} does not run"
    too_old = (
        ""
        if major >= kafka_distribution.MIN_JAVA
        else f", and Kafka needs {kafka_distribution.MIN_JAVA} or later"
    )
    return not too_old, f"Java {major} at {path}{too_old}"


def _check_maven(settings: Settings, which: Which) -> tuple[bool, str]:
    if kafka_distribution.cached(Home(settings.state_dir)) is not None:
        return True, "Kafka's jars are there already"
    path = which("mvn")
    return path is not None, f"Maven at {path}" if path else "`mvn` is not on the PATH"


def _check_docker(which: Which) -> tuple[bool, str]:
    path = which("docker")
    if path is None:
        return False, "`docker` is not on the PATH"
    command = [path, "version", "--format", "{{.Server.Version}}"]
    try:
        completed = subprocess.run(
            command, capture_output=True, text=True, timeout=_DOCKER_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False, "`docker` does not answer"
    if completed.returncode != 0:
        return False, "no Docker daemon answers"
    missing = _extra_missing()
    return not missing, f"Docker {completed.stdout.strip()}{missing}"


def _extra_missing() -> str:
    try:
        import_module("streams.ops.broker.container")
    except ExtraMissing as exc:
        return f"; {exc.message}"
    return ""


def ports(settings: Settings) -> Iterator[Check]:
    yield _check_gateway_port(settings)
    if settings.bootstrap is not None:
        yield ok("broker port", "not needed, HEADRACE_BOOTSTRAP is set")
        return
    local = Home(settings.state_dir).running()
    if local is not None:
        yield ok("broker port", f"the local broker listens on {local.bootstrap}")
    elif _is_free("127.0.0.1", settings.broker_port):
        yield ok("broker port", f"127.0.0.1:{settings.broker_port} is free")
    else:
        yield warn(
            "broker port",
            f"127.0.0.1:{settings.broker_port} is taken",
            "A local broker takes another port; set HEADRACE_BROKER_PORT to choose it.",
        )


def _check_gateway_port(settings: Settings) -> Check:
    try:
        address = Address.parse(settings.gateway)
    except SettingsError as exc:
        return failed("gateway port", exc)
    if address.port == 0 or _is_free(address.host, address.port):
        return ok("gateway port", f"{settings.gateway} is free")
    if (url := running_url(settings)) is not None:
        return ok("gateway port", f"a gateway answers at {url}")
    return fail(
        "gateway port",
        f"{settings.gateway} is taken, or not of this machine",
        "Set HEADRACE_GATEWAY to another address, or stop what listens there.",
    )


def _is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError:
            return False
    return True


def disk(settings: Settings) -> Iterator[Check]:
    """Check the state directory: its permissions, its free space, and the processes that use it."""
    directory = settings.state_dir.absolute()
    existing = next(path for path in (directory, *directory.parents) if path.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        advice = "Set HEADRACE_STATE_DIR to a directory that can be written."
        yield fail("state directory", f"{existing} cannot be written", advice)
        return
    yield ok(
        "state directory", str(directory) if existing == directory else f"{directory}, to be made"
    )
    free = shutil.disk_usage(existing).free
    message, advice = f"{free // MIB} MiB are free", "Make room, or set HEADRACE_STATE_DIR."
    if free < MIN_FREE:
        yield fail("disk space", f"{message}, and Kafka needs {MIN_FREE // MIB}", advice)
    elif free < ENOUGH_FREE:
        yield warn("disk space", message, advice)
    else:
        yield ok("disk space", message)
    yield _check_users(settings)


def _check_users(settings: Settings) -> Check:
    from streams.engine.worker import worker_directory

    directories: dict[str, Path] = {
        "a worker": worker_directory(settings),
        "a gateway": gateway_directory(settings) / "view",
    }
    users = [
        f"{who} ({pid})"
        for who, path in directories.items()
        if (pid := _lock_holder(path)) is not None
    ]
    message = f"in use by {' and '.join(users)}" if users else "nobody uses the state directory"
    return ok("locks", message)


def _lock_holder(directory: Path) -> str | None:
    """Return who holds the lock of a directory, as its file says; None if nobody does."""
    try:
        with (directory / "lock").open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read().strip() or "another process"
    except OSError:
        return None
    return None
