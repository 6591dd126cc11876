"""The run, played once for all that look at it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.evolution_report import played
from streams.demo.fleet_simulation import Run
from streams.routes.handle import Routes
from streams.view_store.view import View


@pytest.fixture(scope="package")
def done() -> Iterator[Run]:
    with played() as run:
        yield run


@pytest.fixture(scope="package")
def routes(done: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Routes]:
    folder: Path = tmp_path_factory.mktemp("evolution")
    with View(done.log, folder / "view", clock=lambda: done.now) as view:
        view.catch_up(0)
        yield Routes(view, done.log, done.settings, lambda: done.now, wait_s=0)
