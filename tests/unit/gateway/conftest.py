from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.gateway.bench import GatewayBench


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[GatewayBench]:
    with GatewayBench(tmp_path) as bench:
        yield bench
