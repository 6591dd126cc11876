"""The demo says what is wrong, if something is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.cli.demo import console_advice
from streams.demo import STEPS, DemoContext, DemoFailed, packets, steps, tell
from streams.ingress.kinds import KINDS
from streams.processing.ingress import check
from streams.settings import Settings
from tests.unit.cli.door import BenchDoor
from tests.unit.views.bench import Bench


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[DemoContext]:
    bench = Bench(tmp_path)
    yield DemoContext(BenchDoor(bench), bench.log, bench.settings, lambda _: None)
    bench.close()


def test_a_step_that_fails_is_named(stage: DemoContext, monkeypatch: pytest.MonkeyPatch) -> None:
    def surprise(stage: DemoContext) -> None:
        """Something else happens."""
        stage.expect("the state", "EXPIRED", "ROUTED")

    monkeypatch.setattr(steps, "STEPS", (surprise,))
    with pytest.raises(DemoFailed, match=r"step 1 \(surprise\): the state should be ROUTED") as it:
        tell(stage)
    assert it.value.exit_code == 1


def test_a_refused_query_fails(stage: DemoContext) -> None:
    with pytest.raises(DemoFailed, match="404"):
        stage.state(packets.example("s1")["packet_id"])


def test_every_step_says_what_happens() -> None:
    assert all(step.__doc__ for step in STEPS)


@pytest.mark.parametrize(
    "make", [packets.ack, packets.impatient, packets.evaluation, packets.decision]
)
def test_the_packets_of_the_story_are_valid(make: object) -> None:
    assert callable(make)
    packet = make(packets.example("s1"))
    _, problems = check(KINDS["apc.packet"], packet, 0, Settings())
    assert problems == []


def test_it_ends_by_saying_how_to_open_the_console() -> None:
    url = "http://127.0.0.1:8640"
    assert console_advice(url, "127.0.0.1:8640") == f"Open the console: {url}/console/"
    advice = console_advice(None, "127.0.0.1:8640")
    assert f"{url}/console/" in advice
    assert "headrace up --open" in advice
