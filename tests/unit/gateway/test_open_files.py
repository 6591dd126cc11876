"""A gateway leaves files to its view, whatever connects to it."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from typing import Any, cast

import pytest

from streams.gateway.open_files import MAX_FILES, RESERVE, bound_connections, raise_file_limit
from tests.unit.gateway.bench import GatewayBench


@pytest.fixture(autouse=True)
def _limits() -> Iterator[None]:
    """Set the limits of this process back afterwards."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_the_soft_limit_is_raised_to_the_hard_one() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    assert raise_file_limit() == target
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (target, hard)
    assert raise_file_limit() == target


@pytest.mark.parametrize(
    ("max_connections", "files", "bound"),
    [
        (4096, MAX_FILES, 4096),
        (4096, 4096 + RESERVE, 4096),
        (4096, 1024, 1024 - RESERVE),
        (100, 1024, 100),
        (4096, 256, 64),
        (4096, 1, 1),
    ],
)
def test_fewer_connections_than_files(max_connections: int, files: int, bound: int) -> None:
    assert bound_connections(max_connections, files) == bound


def test_a_gateway_whose_view_has_failed_for_good_is_not_alive(gateway: GatewayBench) -> None:
    assert gateway.ask("GET", "/healthz").status_code == 200
    cast(Any, gateway.view)._keeper.fail("a fault of the view")
    response = gateway.ask("GET", "/healthz")
    assert response.status_code == 503
    assert "a fault of the view" in response.json()["detail"]
