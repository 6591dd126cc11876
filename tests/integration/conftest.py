"""One system for all tests here that leave it as it is; each test of Summit has its own agents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.readme import environ_for
from tests.integration.summit_desk import Desk
from tests.integration.system import Live, live


@pytest.fixture(scope="package")
def system(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("system")
    with live(broker, folder, GATEWAY_WAIT_S="10", SAP_MAX_WAIT_S="30") as system:
        yield system


@pytest.fixture(scope="module")
def fresh_system(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A system that has seen nothing but the tests of one module."""
    with live(broker, tmp_path_factory.mktemp("fresh-system")) as system:
        yield system


@pytest.fixture(scope="module")
def environ(fresh_system: Live, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """With which a page's commands find the system."""
    return environ_for(fresh_system, tmp_path_factory.mktemp("bin"))


@pytest.fixture
def desk(system: Live, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(system, tmp_path)
    yield made
    made.end()
