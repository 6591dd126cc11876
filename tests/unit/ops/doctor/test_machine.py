"""What the doctor says of the machine."""

from __future__ import annotations

import shutil
import socket
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from schemas import native
from streams.engine.store import DirectoryLock
from streams.engine.worker import worker_directory
from streams.errors import SettingsError
from streams.ops.doctor import examine, machine, services
from streams.ops.doctor.findings import Check, Level
from streams.policy import policy_of
from streams.settings import Settings

Usage = namedtuple("Usage", "total used free")


def by_check(findings: Iterator[Check]) -> dict[str, Check]:
    return {each.check: each for each in findings}


def levels(findings: Iterator[Check]) -> dict[str, Level]:
    return {each.check: each.level for each in findings}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(state_dir=tmp_path / "state")


@pytest.fixture
def taken() -> Iterator[int]:
    """A port where something listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield int(listener.getsockname()[1])


def nothing(name: str) -> str | None:
    return None


def program(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_the_codec_in_use_is_named(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(native.VARIABLE, "off")
    (check,) = machine.codec(settings)
    assert (check.level, check.said) == (Level.OK, "Python (HEADRACE_NATIVE is off)")


def test_a_codec_of_another_version_is_a_warning(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(native.VARIABLE, raising=False)
    monkeypatch.setattr(native, "headrace_native", SimpleNamespace(VERSION="0.9.0"))
    (check,) = machine.codec(settings)
    assert check.level is Level.WARN
    assert "0.9.0, not" in check.said
    assert "make native" in check.advice


def test_the_policy_of_the_settings_is_named(settings: Settings, tmp_path: Path) -> None:
    (check,) = machine.policy(settings)
    assert (check.level, check.said) == (Level.OK, "3f0a99256beeb89a, all defaults")
    changed = replace(settings, saop_repeats=4)
    (check,) = machine.policy(changed)
    assert check.said == f"{policy_of(changed).id}, members with other than their default: 1"
    (check,) = machine.policy(replace(settings, sap_authorization=tmp_path / "none.toml"))
    assert check.level is Level.FAIL
    assert "none.toml" in check.said


def test_without_any_tool_no_local_broker_can_run(settings: Settings) -> None:
    checks = by_check(machine.tools(settings, nothing))
    assert {each.level for each in checks.values()} == {Level.FAIL}
    assert all("Install Java 17" in each.advice for each in checks.values())


def test_tools_are_not_needed_where_a_broker_is_set(settings: Settings) -> None:
    remote = Settings(bootstrap="kafka:9092", state_dir=settings.state_dir)
    checks = by_check(machine.tools(remote, nothing))
    assert {each.level for each in checks.values()} == {Level.OK}
    assert all("HEADRACE_BOOTSTRAP is set" in each.said for each in checks.values())


def test_docker_stands_in_for_java_that_is_too_old(settings: Settings, tmp_path: Path) -> None:
    java = program(tmp_path, "java", "echo 'openjdk version \"11.0.2\"' >&2")
    docker = program(tmp_path, "docker", "echo 28.1")
    checks = by_check(machine.tools(settings, {"java": java, "docker": docker}.get))
    assert checks["java"].level is Level.OK
    assert f"Java 11 at {java}, and Kafka needs 17 or later; Docker" in checks["java"].said
    assert checks["docker"].said == "Docker 28.1"
    dead = program(tmp_path, "docker", "exit 1")
    assert levels(machine.tools(settings, {"java": java, "docker": dead}.get)) == {
        "java": Level.FAIL,
        "maven": Level.FAIL,
        "docker": Level.FAIL,
    }


def test_a_port_that_others_have_is_said(settings: Settings, taken: int) -> None:
    other = Settings(state_dir=settings.state_dir, gateway=f"127.0.0.1:{taken}", broker_port=taken)
    checks = by_check(machine.ports(other))
    assert checks["gateway port"].level is Level.FAIL
    assert "HEADRACE_GATEWAY" in checks["gateway port"].advice
    assert checks["broker port"].level is Level.WARN
    odd = Settings(state_dir=settings.state_dir, gateway="nowhere")
    assert by_check(machine.ports(odd))["gateway port"].said.startswith("settings_error: ")


def test_ports_that_are_free_are_fine(settings: Settings, taken: int) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        free = int(listener.getsockname()[1])
    mine = Settings(state_dir=settings.state_dir, gateway="127.0.0.1:0", broker_port=free)
    assert levels(machine.ports(mine)) == {"gateway port": Level.OK, "broker port": Level.OK}


def test_the_state_directory_is_looked_at_and_not_made(settings: Settings) -> None:
    checks = by_check(machine.disk(settings))
    assert checks["state directory"].said == f"{settings.state_dir}, to be made"
    assert not settings.state_dir.exists()
    assert checks["locks"].said == "nobody uses the state directory"


def test_who_has_the_state_directory_is_named(settings: Settings) -> None:
    lock = DirectoryLock(worker_directory(settings))
    try:
        assert "in use by a worker (pid " in by_check(machine.disk(settings))["locks"].said
    finally:
        lock.release()
    assert "nobody" in by_check(machine.disk(settings))["locks"].said


def test_a_state_directory_below_a_file_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    checks = by_check(machine.disk(Settings(state_dir=tmp_path / "file" / "state")))
    assert checks["state directory"].level is Level.FAIL
    assert "HEADRACE_STATE_DIR" in checks["state directory"].advice


@pytest.mark.parametrize(("mib", "level"), [(255, Level.FAIL), (256, Level.WARN), (2048, Level.OK)])
def test_room_on_the_disk(
    settings: Settings, mib: int, level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1 << 40, 0, mib << 20))
    assert by_check(machine.disk(settings))["disk space"].level is level


def test_settings_that_cannot_be_are_the_one_finding() -> None:
    def load() -> Settings:
        raise SettingsError("HEADRACE_BOOTSTAP is unknown")

    (check,) = examine(load)
    assert (check.check, check.level) == ("settings", Level.FAIL)
    assert "HEADRACE_BOOTSTAP is unknown" in check.said


@pytest.mark.parametrize(
    ("gateway", "level"),
    [
        ("127.0.0.1:8640", Level.OK),
        ("[::1]:8640", Level.OK),
        ("localhost:8640", Level.OK),
        ("0.0.0.0:8640", Level.FAIL),
        ("nowhere", Level.FAIL),
    ],
)
def test_beyond_loopback_tokens_are_needed(gateway: str, level: Level) -> None:
    (check,) = services.tokens(Settings(gateway=gateway))
    assert check.level is level
    assert (check.advice == "") is (level is Level.OK)


def test_a_token_file_is_read(tmp_path: Path) -> None:
    from streams.access.callers import Role
    from streams.access.tokens import new_token

    file = tmp_path / "tokens.jsonl"
    (missing,) = services.tokens(Settings(tokens=file))
    assert missing.level is Level.FAIL
    file.touch(mode=0o600)
    (empty,) = services.tokens(Settings(tokens=file))
    assert (empty.level, "headrace tokens new" in empty.advice) == (Level.WARN, True)
    file.write_text(new_token("builder-1", frozenset({Role.READER}))[1].line() + "\n")
    (unsigned,) = services.tokens(Settings(tokens=file))
    assert (unsigned.level, "HEADRACE_PRINCIPAL_KEY" in unsigned.advice) == (Level.WARN, True)
    (whole,) = services.tokens(
        Settings(tokens=file, principal_key="a-long-secret-of-32-letters-000")
    )
    assert whole.level is Level.OK
