"""A Kafka in Docker needs the extra `container`, and says so where it is not installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.errors import ExtraMissing, needs_extra
from streams.ops import broker
from streams.ops.broker import Choice
from streams.ops.doctor import Level, machine
from streams.settings import Settings

MODULE = "streams.ops.broker.container"
INSTALL = "`pip install 'headrace[container]'`"


@pytest.fixture
def without_extra(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Neither package can be imported, and only Docker can run a broker."""
    with monkeypatch.context() as patched:
        for name in ("docker", "docker.errors", "testcontainers", "testcontainers.core.container"):
            patched.setitem(sys.modules, name, None)
        patched.delitem(sys.modules, MODULE, raising=False)
        patched.delattr(broker, "container", raising=False)
        patched.setattr(broker, "choose", lambda _: Choice.DOCKER)
        yield


def docker_alone(folder: Path) -> Callable[[str], str | None]:
    """Look programs up on a PATH that has nothing but a Docker that answers."""
    path = folder / "docker"
    path.write_text("#!/bin/sh\necho 28.1\n")
    path.chmod(0o755)
    return {"docker": str(path)}.get


@pytest.mark.usefixtures("without_extra")
def test_a_broker_in_docker_names_the_extra(tmp_path: Path) -> None:
    with (
        pytest.raises(ExtraMissing) as caught,
        broker.running_broker(Settings(state_dir=tmp_path)),
    ):
        pass
    assert (caught.value.extra, caught.value.code) == ("container", "extra_missing")
    assert INSTALL in str(caught.value)


@pytest.mark.usefixtures("without_extra")
@pytest.mark.parametrize("command", ["up", "demo"])
def test_a_command_ends_with_2_and_says_what_to_install(command: str, tmp_path: Path) -> None:
    variables = {"HEADRACE_STATE_DIR": str(tmp_path), "HEADRACE_BOOTSTRAP": None}
    ran = CliRunner().invoke(main, [command], env=variables)
    assert ran.exit_code == 2
    assert "headrace: extra_missing: Kafka in Docker needs the extra `container`" in ran.stderr
    assert INSTALL in ran.stderr


@pytest.mark.usefixtures("without_extra")
def test_docker_without_the_extra_does_not_stand_in_for_java(tmp_path: Path) -> None:
    settings = Settings(state_dir=tmp_path / "state")
    checks = {each.check: each for each in machine.tools(settings, docker_alone(tmp_path))}
    assert {each.level for each in checks.values()} == {Level.FAIL}
    assert "Docker 28.1; Kafka in Docker needs the extra `container`" in checks["docker"].said
    assert all(INSTALL in each.advice for each in checks.values())


def test_docker_with_the_extra_stands_in(tmp_path: Path) -> None:
    settings = Settings(state_dir=tmp_path / "state")
    checks = machine.tools(settings, docker_alone(tmp_path))
    assert {each.level for each in checks} == {Level.OK}


def test_only_a_missing_package_is_taken_for_a_missing_extra() -> None:
    with pytest.raises(ImportError, match="cannot import name"), needs_extra("container", "it"):
        exec("from os import no_such_name")
