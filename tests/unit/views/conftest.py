from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.views.bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    system = Bench(tmp_path)
    yield system
    system.close()
