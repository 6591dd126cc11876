"""A gateway over a scenario that was played, and one application of `watch` over it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from tests.unit.cli.watch.stub import Answer, WatchedStub, serving
from tests.unit.routes.stories import Story, lines_of


@pytest.fixture(scope="package")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    played = Story(lines_of("refusals"), tmp_path_factory.mktemp("watch"))
    yield played
    played.scenario.close()


@pytest.fixture(scope="package")
def answer(story: Story) -> Answer:
    """Return what answers a path.  The scenario is over, so a path has one answer."""
    return cache(story.ask)


@pytest.fixture
def stub(answer: Answer) -> Iterator[WatchedStub]:
    with serving(answer) as gateway:
        yield gateway
