from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.engine.kafka import KafkaLog
from tests.contract.driver import Driver
from tests.contract.twins import KafkaTwin, MemoryTwin, Twin

GROUP = f"contract-{uuid.uuid4().hex[:10]}"


@pytest.fixture(scope="session")
def kafka_log(broker: str) -> Iterator[KafkaLog]:
    log = KafkaLog(broker, {}, GROUP)
    yield log
    log.close()


@pytest.fixture
def kafka_twin(broker: str, kafka_log: KafkaLog) -> Iterator[KafkaTwin]:
    twin = KafkaTwin(broker, kafka_log, GROUP)
    twin.create()
    yield twin
    twin.close()


@pytest.fixture(params=["memory", "kafka"])
def twin(request: pytest.FixtureRequest) -> Iterator[Twin]:
    """Every test that takes it runs on both logs."""
    if request.param == "kafka":
        yield request.getfixturevalue("kafka_twin")
        return
    memory = MemoryTwin()
    memory.create()
    yield memory
    memory.close()


@pytest.fixture
def task(twin: Twin, tmp_path: Path) -> Iterator[Callable[..., Driver]]:
    """Opens tasks of the toy; `directory` names one that several of them share."""
    opened: list[Driver] = []

    def open_task(directory: str = "state", **more: Any) -> Driver:
        opened.append(Driver(twin, tmp_path / directory, **more))
        return opened[-1]

    yield open_task
    for driver in opened:
        driver.close()
