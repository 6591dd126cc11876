"""What one cycle makes is gone with it: no object waits for Python's collector.

The collector stops a worker for as long as it looks at what has gathered, up to a tenth of a second
where each task leaves some hundred objects that hold each other.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.engine.task import Task
from streams.play.scenario import play
from streams.settings import Settings

pytestmark = pytest.mark.slow

SCENARIOS = sorted((Path(__file__).parents[3] / "scenarios").glob("*.jsonl"))


OURS = ("streams.", "schemas.", "topology.")


def _own(one: object) -> str | None:
    """The name of an object, or of its class or function, if it is of this project: in a circle
    there is always one, and what other threads leave is not."""
    short = getattr(one, "__qualname__", type(one).__qualname__)
    name = f"{getattr(one, '__module__', '')}.{short}"
    return name if name.startswith(OURS) else None


class Collected:
    """left: objects that cycles have left to the collector, by name.  cycles: how many."""

    def __init__(self) -> None:
        self.left: Counter[str] = Counter()
        self.cycles = 0

    def around(self, part: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any) -> Any:
            gc.collect()
            gc.set_debug(gc.DEBUG_SAVEALL)
            try:
                made = part(*arguments)
                gc.collect()
            finally:
                gc.set_debug(0)
            self.left.update(name for one in gc.garbage if (name := _own(one)))
            gc.garbage.clear()
            self.cycles += made is not None
            return made

        return watched


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collected]:
    """Of every cycle from now on; only what is made from now on is looked at."""
    cycles = Collected()
    for part in ("next_batch", "fire"):
        monkeypatch.setattr(Task, part, cycles.around(getattr(Task, part)))
    gc.collect()
    gc.freeze()
    gc.disable()
    yield cycles
    gc.enable()
    gc.unfreeze()


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_cycle_leaves_nothing_to_the_collector(path: Path, collected: Collected) -> None:
    lines = path.read_text().splitlines()
    for _ in play(lines, Settings(partitions=1)):
        pass
    assert collected.cycles > 0
    assert not collected.left
