"""A system in memory, and an auditor's key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.ops.audit import Signer
from streams.ops.audit.keys import new_pair, signer
from tests.unit.views.bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    system = Bench(tmp_path)
    yield system
    system.close()


@pytest.fixture
def key(tmp_path: Path) -> Signer:
    new_pair(tmp_path / "auditor.pem")
    return signer(tmp_path / "auditor.pem")
