from __future__ import annotations

import os
from pathlib import Path

import pytest

from streams.errors import BrokerUnavailable
from streams.ops.broker import kafka_distribution
from streams.ops.broker.choose import Choice, choose
from streams.ops.broker.home import Home, Started
from streams.ops.broker.process import Process
from streams.settings import Settings


def chosen(state_dir: Path, *programs: str, java: int | None = 17, **more: str) -> Choice:
    def which(name: str) -> str | None:
        return f"/usr/bin/{name}" if name in programs else None

    return choose(
        Settings.load({}, state_dir=state_dir, **more), which=which, java_major=lambda _: java
    )


def test_a_configured_broker_comes_first(tmp_path: Path) -> None:
    assert chosen(tmp_path, "java", "mvn", "docker", bootstrap="kafka:9092") is Choice.CONFIGURED
    assert chosen(tmp_path, bootstrap="kafka:9092") is Choice.CONFIGURED


def test_java_and_maven_come_before_docker(tmp_path: Path) -> None:
    assert chosen(tmp_path, "java", "mvn", "docker") is Choice.LOCAL


@pytest.mark.parametrize(
    ("programs", "java"),
    [(("docker",), 17), (("java", "docker"), 17), (("java", "mvn", "docker"), 11)],
)
def test_docker_is_taken_when_java_or_maven_will_not_do(
    tmp_path: Path, programs: tuple[str, ...], java: int
) -> None:
    assert chosen(tmp_path, *programs, java=java) is Choice.DOCKER


@pytest.mark.parametrize(
    ("programs", "java", "message"),
    [
        ((), 17, "`java` is not on the PATH"),
        (("mvn",), 17, "`java` is not on the PATH"),
        (("java",), 17, "`mvn` (Maven)"),
        (("java", "mvn"), 11, "Java 11, and Kafka needs 17 or later"),
        (("java", "mvn"), None, "of unknown version"),
    ],
)
def test_without_any_the_error_names_all_three(
    tmp_path: Path, programs: tuple[str, ...], java: int | None, message: str
) -> None:
    with pytest.raises(BrokerUnavailable) as caught:
        chosen(tmp_path, *programs, java=java)
    text = str(caught.value)
    assert message in text
    for way in ("Java 17", "Maven", "Docker", "HEADRACE_BOOTSTRAP"):
        assert way in text


def test_maven_is_not_needed_once_the_jars_are_known(tmp_path: Path) -> None:
    jar = tmp_path / "kafka.jar"
    jar.touch()
    home = Home(tmp_path)
    home.make()
    home.classpath.write_text(f"{kafka_distribution.pom_digest()}\n{jar}\n")
    assert chosen(tmp_path, "java") is Choice.LOCAL
    jar.unlink()
    with pytest.raises(BrokerUnavailable, match="mvn"):
        chosen(tmp_path, "java")


def test_jars_of_another_pom_are_resolved_anew(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.make()
    home.classpath.write_text(f"{'0' * 64}\n{__file__}\n")
    assert kafka_distribution.cached(home) is None


def test_a_broker_that_runs_is_used_whatever_is_installed(tmp_path: Path) -> None:
    mine = Process.of(os.getpid())
    assert mine is not None
    home = Home(tmp_path)
    home.make()
    home.save(Started(mine, 19640, "cluster"))
    assert chosen(tmp_path) is Choice.LOCAL
