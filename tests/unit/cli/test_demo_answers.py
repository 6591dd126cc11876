"""The third act, told over a system in memory, and what it says when something is otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from schemas import sap
from streams.demo import DemoContext, DemoFailed, answers
from streams.settings import Settings
from tests.unit.cli.door import BenchDoor
from tests.unit.views.bench import Bench


@pytest.fixture
def printed() -> list[str]:
    return []


@pytest.fixture
def stage(tmp_path: Path, printed: list[str]) -> Iterator[DemoContext]:
    bench = Bench(tmp_path)
    door = BenchDoor(bench)
    yield DemoContext(door, bench.log, bench.settings, printed.append, agent=door.agent)
    bench.close()


def test_it_gives_what_it_should(stage: DemoContext, printed: list[str]) -> None:
    answers.tell(stage)
    assert stage.checks > 15
    text = "\n".join(printed)
    assert "cache       hit, version 1" in text
    assert "constraint:no_pii" in text
    assert "5550" not in text


def test_it_can_be_told_again(stage: DemoContext) -> None:
    answers.tell(stage)
    answers.tell(replace(stage, session="demo-00000002"))


def test_a_step_that_fails_is_named(stage: DemoContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_PRIVATE_TEXT", "nothing of note")
    with pytest.raises(DemoFailed, match="act three, step 3: the status should be FAILED"):
        answers.tell(stage)


def test_with_other_settings_it_is_left_out(stage: DemoContext, printed: list[str]) -> None:
    answers.tell(replace(stage, settings=Settings(sap_past_deadline="timeout")))
    assert stage.checks == 0
    assert "left out" in printed[-1]


def test_its_tasks_are_valid(stage: DemoContext) -> None:
    tasks = [answers.seed(stage, number) for number in (1, 2)]
    assert [sap.validate_task(task) for task in tasks] == [[], []]
    assert tasks[0]["taskId"] != tasks[1]["taskId"]
    assert all(step.__doc__ for step in answers.STEPS)
