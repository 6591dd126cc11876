"""The facts that changed a run, as streams of its changes read them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.protocols.summit.queries.changes import changes, newest_changes
from tests.unit.protocols.summit.queries.stage import (
    CALLS,
    REPLIES,
    RUN,
    cancel,
    critic,
    invoke,
    judgement,
    progress,
    registered,
    result,
)
from tests.unit.views.bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    registered(bench, critic())
    yield bench
    bench.close()


def test_each_version_has_one_change(bench: Bench) -> None:
    """Leave out repetitions and refusals, which say a version too."""
    bench.send(CALLS, invoke(), invoke())
    half = progress(message="half")
    bench.send(REPLIES, half, half, progress(reply="p-2"), result(), judgement())
    bench.send(CALLS, cancel())
    bench.view.catch_up(0)
    found_changes = list(changes(bench.view, RUN))
    assert [change.version for change in found_changes] == [1, 2, 3, 4, 5]
    rules = [change.fact["rule"] for change in found_changes]
    assert rules[0] == "call.accepted"
    assert rules[3:] == ["reply.result", "reply.verification"]
    assert list(newest_changes(bench.view, RUN)) == found_changes[::-1]
    assert list(changes(bench.view, RUN, found_changes[2].key)) == found_changes[3:]


def test_progress_keeps_its_message(bench: Bench) -> None:
    """Keep what the agent said in the fact on each progress, and nothing in others."""
    bench.send(CALLS, invoke())
    bench.send(REPLIES, progress(message="half"), progress(reply="p-2"), result())
    bench.view.catch_up(0)
    messages = [change.fact["replyMessage"] for change in changes(bench.view, RUN)]
    assert messages == [None, "half", None, None]


def test_run_that_is_not_there(bench: Bench) -> None:
    """Have no changes of a run that nobody has called."""
    assert list(changes(bench.view, "none")) == []
