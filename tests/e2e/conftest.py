"""Each test has topics of its own on a shared broker; what is random is seeded and printed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.environment import Environment


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--e2e-seed", type=int, help="repeat a run of tests/e2e")


@pytest.fixture
def dice(request: pytest.FixtureRequest) -> random.Random:
    """Shown with the output of a test that fails."""
    option = request.config.getoption("e2e_seed", default=None)
    seed = random.randrange(1_000_000) if option is None else option
    print(f"repeat with --e2e-seed {seed}")
    return random.Random(seed)


@pytest.fixture(scope="module")
def shared(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """One environment for all tests of a module, with a worker that is ready."""
    with Environment(broker, tmp_path_factory.mktemp("e2e")) as environment:
        environment.start("shared").wait_ready(*environment.numbers)
        yield environment


@pytest.fixture
def environment(broker: str, tmp_path: Path) -> Iterator[Environment]:
    """One environment for one test, without a worker."""
    with Environment(broker, tmp_path) as environment:
        yield environment
