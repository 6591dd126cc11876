"""The fourth act, told over a system in memory, and what it says when something is otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemas.asap import canonical_form, validate
from streams.demo import DemoContext, DemoFailed, tasks
from tests.unit.protocols.asap.queries.stage import manifest
from tests.unit.views.bench import Bench


def test_it_gives_what_it_should(stage: DemoContext, printed: list[str]) -> None:
    tasks.tell(stage)
    assert stage.checks > 10
    text = "\n".join(printed)
    assert "snapshot    version 3" in text
    assert "task_already_terminal" in text
    task_id = f"task-{stage.session}"
    assert f"there is no task {task_id}, which is the payload's task_id." in text
    assert f"trace       {task_id}, filled in from the task's id" in text


def test_it_can_be_told_again(stage: DemoContext) -> None:
    tasks.tell(stage)
    tasks.tell(replace(stage, session="demo-00000002"))


def test_a_step_that_fails_is_named(stage: DemoContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_TOO_LATE", "another")
    with pytest.raises(DemoFailed, match="act four, step 5: the error should be another"):
        tasks.tell(stage)


def test_where_agents_need_manifests_it_is_left_out(
    stage: DemoContext, bench: Bench, printed: list[str]
) -> None:
    bench.send("asap.manifests", manifest())
    bench.view.catch_up(0)
    tasks.tell(stage)
    assert stage.checks == 0
    assert "left out" in printed[-1]


def test_its_request_is_valid(stage: DemoContext) -> None:
    request = tasks.asked_for(stage)
    assert validate(canonical_form(request)) == []
    assert tasks.asked_for(stage) == request
    assert all(step.__doc__ for step in tasks.STEPS)
