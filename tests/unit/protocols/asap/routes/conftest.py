from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.gateway.conftest import gateway
from tests.unit.protocols.asap.routes.asap_bench import AsapBench, asap_bench

__all__ = ["bench", "gateway"]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[AsapBench]:
    """Start the gateway, with processors at work."""
    with asap_bench(tmp_path) as system:
        yield system
