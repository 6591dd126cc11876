"""Each module of tests has a system of its own; in a quick run all share one, whose tests agree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from tests.integration.readme import environ_for
from tests.integration.summit_desk import SummitHarness
from tests.integration.system import Live, live


def _scope_of_system(fixture_name: str, config: pytest.Config) -> Literal["package", "module"]:
    return "package" if config.getoption("quick") else "module"


@pytest.fixture(scope=_scope_of_system)
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
def harness(system: Live, tmp_path: Path) -> Iterator[SummitHarness]:
    made = SummitHarness(system, tmp_path)
    yield made
    made.end()
