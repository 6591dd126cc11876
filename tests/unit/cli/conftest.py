"""A system in memory in which the acts of the demo are told.  said: what they say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.demo import DemoContext
from tests.unit.cli.door import BenchDoor
from tests.unit.views.bench import Bench


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    system = Bench(tmp_path)
    yield system
    system.close()


@pytest.fixture
def stage(bench: Bench, said: list[str]) -> DemoContext:
    return DemoContext(BenchDoor(bench), bench.log, bench.settings, said.append)
