"""The second act of the demo, on the in-memory log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from streams.demo import DemoContext, DemoFailed, evolution
from streams.demo.fleet_simulation import Generation, Sent, Story
from streams.demo.fleet_simulation import tell as evolve
from tests.unit.cli.door import BenchDoor
from tests.unit.views.bench import Bench


@pytest.fixture
def printed() -> list[str]:
    return []


@pytest.fixture
def stage(tmp_path: Path, printed: list[str]) -> Iterator[DemoContext]:
    bench = Bench(tmp_path)
    yield DemoContext(BenchDoor(bench), bench.log, bench.settings, printed.append)
    bench.close()


def test_the_act_holds_and_shows_what_came_of_it(stage: DemoContext, printed: list[str]) -> None:
    evolution.tell(stage)
    text = "\n".join(printed)
    for words in ("protocol_decayed", "→", "recovered", "blind-distill", "what if", "40 of 40"):
        assert words in text
    assert stage.checks > 4500
    assert printed[-1].startswith("\nAll ")


def test_a_verdict_that_was_not_meant_fails(
    stage: DemoContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*args: object, **options: object) -> Story:
        story = evolve("short")
        sent = [Sent(each.packet, frozenset({"phase_type"})) for each in story.packets[:1]]
        return replace(story, generations=[Generation(0, sent)])

    monkeypatch.setattr(evolution, "evolve", wrong)
    with pytest.raises(DemoFailed, match="should be decided by"):
        evolution.tell(stage)


def test_other_decay_settings_leave_the_act_out(stage: DemoContext, printed: list[str]) -> None:
    stage.settings = replace(stage.settings, apc_decay_mode="always")
    evolution.tell(stage)
    assert "left out" in printed[-1]
    assert stage.checks == 0
