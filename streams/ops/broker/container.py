"""Apache Kafka in Docker, through testcontainers: for machines without Java and Maven.

Importing this module raises ExtraMissing if the extra `container` is not installed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from streams.errors import BrokerUnavailable, needs_extra
from streams.ops.broker import config as broker_config
from streams.ops.broker import kafka_distribution, network
from streams.settings.service import ServiceSettings

with needs_extra("container", "Kafka in Docker"):
    from docker.errors import DockerException
    from testcontainers.core.container import DockerContainer

IMAGE = "apache/kafka:4.1.1"
READY_LIMIT_S = 120.0


def environment(config: Mapping[str, str]) -> dict[str, str]:
    """Return broker settings as the image expects them: `log.dirs` is KAFKA_LOG_DIRS."""
    return {f"KAFKA_{name.upper().replace('.', '_')}": value for name, value in config.items()}


@contextmanager
def running(
    settings: ServiceSettings, progress: Callable[[str], None], config: Mapping[str, str]
) -> Iterator[str]:
    """Run a broker in Docker while the context is open; its data are removed with it.

    It uses the host's network, so that it listens on 127.0.0.1 only.
    """
    port, controller_port = network.pick_ports([settings.broker_port], 2)
    broker_settings = (
        broker_config.COMMON | broker_config.listeners(port, controller_port) | dict(config)
    )
    progress(f"starting {IMAGE} in Docker on 127.0.0.1:{port}")
    try:
        container = DockerContainer(IMAGE).with_kwargs(network_mode="host")
        container.with_envs(**environment(broker_settings)).start()
    except (DockerException, OSError) as exc:
        raise BrokerUnavailable(
            f"Docker cannot run {IMAGE}: {exc}", advice=kafka_distribution.ADVICE
        ) from exc
    try:
        _wait(container, port)
        yield f"127.0.0.1:{port}"
    finally:
        container.stop()


def _wait(container: DockerContainer, port: int) -> None:
    deadline = time.monotonic() + READY_LIMIT_S
    while network.cluster_id(port) is None:
        if time.monotonic() > deadline:
            output = b"".join(container.get_logs()).decode(errors="replace").strip()
            raise BrokerUnavailable(
                f"{IMAGE} did not answer within {READY_LIMIT_S:.0f} s: {output[-300:]}",
                advice=kafka_distribution.ADVICE,
            )
        time.sleep(0.2)
