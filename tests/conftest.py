from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.broker import running_broker
from streams.settings import Settings

os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
"""Brokers of tests are too short of life to earn what the optimizing compiler costs."""


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real Kafka: HEADRACE_BOOTSTRAP's, else one for this session of tests."""
    state_dir: Path = tmp_path_factory.mktemp("state")
    with running_broker(Settings.load(state_dir=state_dir)) as bootstrap:
        yield bootstrap
