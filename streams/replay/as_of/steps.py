"""The part of a thing's history that lies before a point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from streams.replay.as_of.point import AsOf
from streams.views.positions import Position
from topology.declarations import Topic


class Step(NamedTuple):
    """One fact about a thing.

    at: ms since the epoch, when it was decided.  places: its own position and that of the record it
    was decided on, as far as they are known; a timer has none.  row: its key in the view.
    """

    at: int
    places: tuple[Position, ...]
    topic: Topic
    value: Any
    row: bytes


def count_until(steps: Sequence[Step], as_of: AsOf) -> int:
    """Return how many steps, in log order, lie at the point or before it.

    A step that was decided on a record of the point's own partition is before the point if its
    record is; other steps are compared by time.  Steps decided on one record stay together.
    """
    for position in as_of.places:
        if any(_position_on_partition_of(step, position) is not None for step in steps):
            return _count_by_position(steps, position, as_of.at)
    return _count_by_time(steps, 0, as_of.at)


def _count_by_position(steps: Sequence[Step], position: Position, at: int) -> int:
    within = [n for n, step in enumerate(steps) if _is_at_or_before(step, position)]
    count = within[-1] + 1 if within else 0
    while 0 < count < len(steps) and steps[count].places[1:] == steps[count - 1].places[1:] != ():
        count += 1
    free = next(
        (n for n in range(count, len(steps)) if _position_on_partition_of(steps[n], position)),
        len(steps),
    )
    return _count_by_time(steps[:free], count, at)


def _count_by_time(steps: Sequence[Step], first: int, at: int) -> int:
    return next((n for n in range(first, len(steps)) if steps[n].at > at), len(steps))


def _is_at_or_before(step: Step, position: Position) -> bool:
    other = _position_on_partition_of(step, position)
    return other is not None and other.offset <= position.offset


def _position_on_partition_of(step: Step, position: Position) -> Position | None:
    """Return the step's position on the partition of `position`, None if it has none there."""
    return next((each for each in step.places if each[:2] == position[:2]), None)
