"""Each module of tests has a system of its own; each test of Summit has its own agents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.readme import environ_for
from tests.integration.summit_desk import Desk
from tests.integration.system import Live, live


@pytest.fixture(scope="module")
def system(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(broker, tmp_path_factory.mktemp("system")) as system:
        yield system


@pytest.fixture(scope="module")
def environ(system: Live, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """With which a page's commands find the system."""
    return environ_for(system, tmp_path_factory.mktemp("bin"))


@pytest.fixture(scope="module")
def summit_system(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(broker, tmp_path_factory.mktemp("summit-agents")) as system:
        yield system


@pytest.fixture
def desk(summit_system: Live, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(summit_system, tmp_path)
    yield made
    made.end()
