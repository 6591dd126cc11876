from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.views.bench import Bench
from tests.unit.views.sap.stage import SapInboxAgent


@pytest.fixture
def inbox_agent(bench: Bench) -> SapInboxAgent:
    return SapInboxAgent(bench)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
