"""How much of a thing's history lies before a point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from streams.replay.as_of.point import AsOf
from streams.views.positions import Position
from topology.declarations import Topic


class Step(NamedTuple):
    """One fact about a thing.

    at: ms, when it was decided.  places: its own position and that of the record it was decided
    on, as far as they are known; of a timer there is none.  row: its key in the view.
    """

    at: int
    places: tuple[Position, ...]
    topic: Topic
    value: Any
    row: bytes


def kept(steps: Sequence[Step], as_of: AsOf) -> int:
    """How many steps, in the order of the log, lie at the point or before it.

    A step that was decided on a record of the point's own partition is before it when its record
    is; others are by their time.  What was decided on one record stays together.
    """
    for place in as_of.places:
        if any(_on(step, place) is not None for step in steps):
            return _by_place(steps, place, as_of.at)
    return _by_time(steps, 0, as_of.at)


def _by_place(steps: Sequence[Step], place: Position, at: int) -> int:
    within = [n for n, step in enumerate(steps) if _before(step, place)]
    count = within[-1] + 1 if within else 0
    while 0 < count < len(steps) and steps[count].places[1:] == steps[count - 1].places[1:] != ():
        count += 1
    free = next((n for n in range(count, len(steps)) if _on(steps[n], place)), len(steps))
    return _by_time(steps[:free], count, at)


def _by_time(steps: Sequence[Step], first: int, at: int) -> int:
    return next((n for n in range(first, len(steps)) if steps[n].at > at), len(steps))


def _before(step: Step, place: Position) -> bool:
    found = _on(step, place)
    return found is not None and found.offset <= place.offset


def _on(step: Step, place: Position) -> Position | None:
    """The step's position on the partition of a place."""
    return next((each for each in step.places if each[:2] == place[:2]), None)
