"""Each test has its own prefix on a shared broker, and its own dice; a failure shows the seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.cluster import Cluster

SEED = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--chaos-seed", type=int, help="repeat a run of tests/chaos")
    parser.addoption(
        "--each-point",
        action="store_true",
        help="a mixed history meets every crash point, not some",
    )


def pytest_configure(config: pytest.Config) -> None:
    seed = config.getoption("chaos_seed", default=None)
    config.stash[SEED] = random.randrange(1_000_000) if seed is None else seed


@pytest.fixture
def dice(request: pytest.FixtureRequest) -> random.Random:
    seed = request.config.stash[SEED]
    print(f"repeat with --chaos-seed {seed}")
    return random.Random(f"{seed} {request.node.name}")


@pytest.fixture
def cluster(broker: str, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(broker, tmp_path) as cluster:
        yield cluster
