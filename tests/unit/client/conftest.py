from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.client.loops import LOOPS, Run, run_alone
from tests.unit.views.bench import Bench


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest) -> Run:
    return lambda test: run_alone(test, request.param)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    system = Bench(tmp_path)
    yield system
    system.close()
