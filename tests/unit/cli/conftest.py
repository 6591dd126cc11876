"""A system in memory in which the acts of the demo are told.  said: what they say."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.demo import DemoContext
from tests.unit.cli.door import BenchDoor
from tests.unit.cli.stub_gateway import StubGateway
from tests.unit.views.bench import Bench


@pytest.fixture
def printed() -> list[str]:
    return []


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    system = Bench(tmp_path)
    yield system
    system.close()


@pytest.fixture
def stage(bench: Bench, printed: list[str]) -> DemoContext:
    return DemoContext(BenchDoor(bench), bench.log, bench.settings, printed.append)


@pytest.fixture
def gateway() -> Iterator[StubGateway]:
    with StubGateway() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()
