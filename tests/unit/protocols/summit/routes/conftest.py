from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.gateway.conftest import gateway
from tests.unit.protocols.summit.routes.summit_bench import SummitBench, summit_bench

__all__ = ["gateway"]


@pytest.fixture
def summit(tmp_path: Path) -> Iterator[SummitBench]:
    """Start the gateway, with processors at work."""
    with summit_bench(tmp_path, summit_wait_s=20) as bench:
        yield bench
