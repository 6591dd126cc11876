"""The fifth act, told over a system in memory, and what it says when something is otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from schemas.summit import check_request
from streams.demo import DemoContext, DemoFailed, runs
from tests.unit.cli.door import BenchDoor
from tests.unit.views.bench import Bench


@pytest.fixture
def printed() -> list[str]:
    return []


@pytest.fixture
def stage(tmp_path: Path, printed: list[str]) -> Iterator[DemoContext]:
    system = Bench(tmp_path)
    door = BenchDoor(system)
    yield DemoContext(door, system.log, system.settings, printed.append, example=door.example)
    system.close()


def test_it_gives_what_it_should(stage: DemoContext, printed: list[str]) -> None:
    runs.tell(stage)
    assert stage.checks > 15
    text = "\n".join(printed)
    assert "-32003 Run exists with another call" in text
    assert text.count("ok  ") == 5


def test_it_can_be_told_again(stage: DemoContext) -> None:
    runs.tell(stage)
    runs.tell(replace(stage, session="demo-00000002"))


def test_a_step_that_fails_is_named(stage: DemoContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "OUTPUT", {"words": 5})
    with pytest.raises(DemoFailed, match="act five, step 2: the output should be"):
        runs.tell(stage)


def test_its_request_is_valid(stage: DemoContext) -> None:
    assert check_request(runs.invocation(stage)) == []
    assert all(step.__doc__ for step in runs.STEPS)
