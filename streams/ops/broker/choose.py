"""The choice of a broker: the configured one, a local one from Java and Maven, one in Docker."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from enum import StrEnum

from streams.errors import BrokerUnavailable
from streams.ops.broker import kafka_distribution
from streams.ops.broker.home import Home
from streams.settings.service import ServiceSettings

Which = Callable[[str], str | None]


class Choice(StrEnum):
    CONFIGURED = "configured"
    LOCAL = "local"
    DOCKER = "docker"


def choose(
    settings: ServiceSettings,
    *,
    which: Which = shutil.which,
    java_major: Callable[[str], int | None] = kafka_distribution.java_major,
) -> Choice:
    """Choose the broker to use.

    Raises BrokerUnavailable, naming everything that could be installed, if there is none.
    """
    if settings.bootstrap:
        return Choice.CONFIGURED
    home = Home(settings.state_dir)
    if home.running() is not None:
        return Choice.LOCAL
    missing = _missing_tool(home, which, java_major)
    if missing is None:
        return Choice.LOCAL
    if which("docker"):
        return Choice.DOCKER
    raise BrokerUnavailable(
        f"no Kafka broker can be started: {missing}, and there is no Docker",
        advice=kafka_distribution.ADVICE,
    )


def _missing_tool(home: Home, which: Which, java_major: Callable[[str], int | None]) -> str | None:
    java = which("java")
    if java is None:
        return "`java` is not on the PATH"
    major = java_major(java)
    if major is None or major < kafka_distribution.MIN_JAVA:
        version = "of unknown version" if major is None else f"Java {major}"
        return f"`java` is {version}, and Kafka needs {kafka_distribution.MIN_JAVA} or later"
    if which("mvn") is None and kafka_distribution.cached(home) is None:
        return "`mvn` (Maven), which fetches Kafka's jars, is not on the PATH"
    return None
