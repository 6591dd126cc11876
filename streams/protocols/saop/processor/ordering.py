"""The turns of a task in their order: what waits, what is released, which holes are given up.

Values in, values out.  An `Order` is where one task stands.  `next` is the lowest index that may
still be logged: all below it were logged or given up.  Held turns lie above it.  A turn whose
place in the log is settled goes to the queue, in the order in which it is to be written; what is
written leaves the queue at its head.  So neither the size of the turns nor the pace of writing
changes what is decided.

Source: SAOP/RTES spec, 4.1.
"""

from __future__ import annotations

from typing import NamedTuple

from schemas.rules import Rule
from schemas.saop import rules

COUNT, TIME = "count", "time"
"""Why a hole was given up."""


class Gap(NamedTuple):
    """Turns given up, first and last, and why."""

    missing_from: int
    missing_to: int
    reason: str


class Place(NamedTuple):
    """A held turn.  due_at: when it is logged at the latest (ms).  size: bytes of its record."""

    turn_index: int
    due_at: int
    size: int


class Release(NamedTuple):
    """A turn to be written.  held: it had to wait.  gap: the hole before it.  at: when settled."""

    turn_index: int
    held: bool
    gap: Gap | None
    at: int
    size: int


class Order(NamedTuple):
    """Where a task stands.  last_logged: the turn written last.  held: ascending by index."""

    next: int = 0
    last_logged: int | None = None
    held: tuple[Place, ...] = ()
    queue: tuple[Release, ...] = ()


class Limits(NamedTuple):
    """Turns held per task, how long (ms), and how far ahead of `next` a turn may be."""

    hold_turns: int
    hold_ms: int
    max_ahead: int


def judge(order: Order, turn_index: int, same: bool | None, limits: Limits) -> Rule:
    """What the table says of a turn that arrives.

    same: whether its content is that of the accepted turn of this index; None if there is none.
    """
    if same is not None:
        return rules.TURN_DUPLICATE if same else rules.TURN_CONFLICT
    if turn_index < order.next:
        return rules.TURN_LATE
    if turn_index > order.next + limits.max_ahead and order.next > 0:
        return rules.TURN_TOO_FAR
    return rules.TURN_LOGGED if turn_index == order.next else rules.TURN_HELD


def log(order: Order, turn_index: int, size: int, now_ms: int) -> Order:
    """The next turn, which releases the held turns that follow it."""
    own = Release(turn_index, False, None, now_ms, size)
    order = order._replace(next=turn_index + 1, queue=(*order.queue, own))
    return _release(order, turn_index, COUNT, now_ms)


def hold(order: Order, turn_index: int, size: int, now_ms: int, limits: Limits) -> Order:
    """A turn that waits; when too many do, the lowest run of them is released."""
    own = Place(turn_index, now_ms + limits.hold_ms, size)
    order = order._replace(held=tuple(sorted((*order.held, own))))
    while len(order.held) > limits.hold_turns:
        order = _release(order, order.held[0].turn_index, COUNT, now_ms)
    return order


def expire(order: Order, turn_index: int, now_ms: int) -> Order:
    """The time of a held turn is up: it and all below it are released, and what follows it."""
    return _release(order, turn_index, TIME, now_ms)


def overdue(order: Order, now_ms: int) -> list[Place]:
    """Held turns that were due before `now_ms`, in the order in which their timers fire."""
    late = [place for place in order.held if place.due_at < now_ms]
    return sorted(late, key=lambda place: (place.due_at, place.turn_index))


def _release(order: Order, through: int, reason: str, now_ms: int) -> Order:
    """Held turns up to an index, then those that follow without a hole."""
    upcoming, released = order.next, []
    for place in order.held:
        index = place.turn_index
        if index > through and index != upcoming:
            break
        gap = Gap(upcoming, index - 1, reason) if index > upcoming else None
        released.append(Release(index, True, gap, now_ms, place.size))
        upcoming = index + 1
    if not released:
        return order
    held = order.held[len(released) :]
    return order._replace(next=upcoming, held=held, queue=(*order.queue, *released))
