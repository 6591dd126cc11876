from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.protocols.sap.queries.stage import SapInboxAgent
from tests.unit.views.bench import Bench


@pytest.fixture
def inbox_agent(bench: Bench) -> SapInboxAgent:
    return SapInboxAgent(bench)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
