"""The order of a task's turns: which wait, which are released, which gaps are given up.

Its functions are pure.  A `TurnOrder` is the state of one task.  `next` is the lowest index that
may still be logged: all lower ones were logged or given up.  Held turns have higher indexes.

A turn whose position in the log is fixed goes to the queue, in the order of writing; written turns
leave the queue at its head.  So neither the size of the turns nor the pace of writing changes a
decision.

Source: SAOP guide, 4.1.
"""

from __future__ import annotations

from typing import NamedTuple

from schemas.rules import Rule
from schemas.saop import rules
from streams.engine.processor import AvroValue
from topology.keys import composite

COUNT, TIME = "count", "time"
"""Reasons why a gap was given up."""
_DIGITS = 16
"""The digits of 9007199254740991."""


class Gap(NamedTuple):
    """The first and last of the turns given up, and the reason."""

    missing_from: int
    missing_to: int
    reason: str


class HeldTurn(NamedTuple):
    """A held turn.  due_at: when it is logged at the latest (ms).  size: bytes of its record."""

    turn_index: int
    due_at: int
    size: int


class ReadyTurn(NamedTuple):
    """A turn to be written.  held: it had to wait.  gap: before it.  at: when it was released."""

    turn_index: int
    held: bool
    gap: Gap | None
    at: int
    size: int


class TurnOrder(NamedTuple):
    """The state of a task.  last_logged: the turn written last.  buffered: by index.

    session_id: the session in which the task began last; None while none is known.
    paused: the task is paused, and takes no new turns.
    """

    next: int = 0
    last_logged: int | None = None
    buffered: tuple[HeldTurn, ...] = ()
    queue: tuple[ReadyTurn, ...] = ()
    session_id: str | None = None
    paused: bool = False


class Limits(NamedTuple):
    """Turns held per task, how long (ms), and how far ahead of `next` a turn may be."""

    hold_turns: int
    hold_ms: int
    max_ahead: int


def check_turn(order: TurnOrder, turn_index: int, same: bool | None, limits: Limits) -> Rule:
    """Apply the table of the spec to a turn that arrives.

    same: whether its content is that of the accepted turn of this index; None if there is none.
    """
    if same is not None:
        return rules.TURN_DUPLICATE if same else rules.TURN_CONFLICT
    if order.paused:
        return rules.TASK_PAUSED
    if turn_index < order.next:
        return rules.TURN_LATE
    if turn_index > order.next + limits.max_ahead and order.next > 0:
        return rules.TURN_TOO_FAR
    return rules.TURN_LOGGED if turn_index == order.next else rules.TURN_HELD


def log(order: TurnOrder, turn_index: int, size: int, now_ms: int) -> TurnOrder:
    """Add the next turn, which releases the held turns that follow it."""
    ready = ReadyTurn(turn_index, False, None, now_ms, size)
    order = order._replace(next=turn_index + 1, queue=(*order.queue, ready))
    return _release(order, turn_index, COUNT, now_ms)


def hold(order: TurnOrder, turn_index: int, size: int, now_ms: int, limits: Limits) -> TurnOrder:
    """Add a turn that waits; when too many do, the lowest run of them is released."""
    waiting = HeldTurn(turn_index, now_ms + limits.hold_ms, size)
    order = order._replace(buffered=tuple(sorted((*order.buffered, waiting))))
    while len(order.buffered) > limits.hold_turns:
        order = _release(order, order.buffered[0].turn_index, COUNT, now_ms)
    return order


def expire(order: TurnOrder, turn_index: int, now_ms: int) -> TurnOrder:
    """Release a held turn whose time is up, all below it, and what follows it."""
    return _release(order, turn_index, TIME, now_ms)


def overdue(order: TurnOrder, now_ms: int) -> list[HeldTurn]:
    """Return held turns that were due before `now_ms`, in the order in which their timers fire."""
    overdue_turns = [turn for turn in order.buffered if turn.due_at < now_ms]
    return sorted(overdue_turns, key=lambda turn: (turn.due_at, turn.turn_index))


def _release(order: TurnOrder, through: int, reason: str, now_ms: int) -> TurnOrder:
    """Release held turns up to an index, then those that follow without a hole."""
    upcoming, ready = order.next, []
    for turn in order.buffered:
        index = turn.turn_index
        if index > through and index != upcoming:
            break
        gap = Gap(upcoming, index - 1, reason) if index > upcoming else None
        ready.append(ReadyTurn(index, True, gap, now_ms, turn.size))
        upcoming = index + 1
    if not ready:
        return order
    waiting = order.buffered[len(ready) :]
    return order._replace(next=upcoming, buffered=waiting, queue=(*order.queue, *ready))


def turn_key(task_id: str, turn_index: int) -> str:
    return composite(task_id, str(turn_index))


def timer_key(task_id: str, turn_index: int) -> str:
    """Return a timer's key; timers of one due time fire by their keys, so in the turns' order."""
    return composite(task_id, f"{turn_index:0{_DIGITS}d}")


def order_of(row: AvroValue | None) -> TurnOrder:
    """Return the order in a SaopTurnHead row; a task without one is new."""
    if row is None:
        return TurnOrder()
    return TurnOrder(
        row["next"],
        row["last_logged"],
        tuple(HeldTurn(**turn) for turn in row["held"]),
        tuple(_ready_turn(turn) for turn in row["queue"]),
        row["session_id"],
        row["paused"],
    )


def _ready_turn(row: AvroValue) -> ReadyTurn:
    gap = row["gap"]
    return ReadyTurn(**row | {"gap": None if gap is None else Gap(**gap)})


def head_row(order: TurnOrder) -> AvroValue:
    return {
        "next": order.next,
        "last_logged": order.last_logged,
        "held": [turn._asdict() for turn in order.buffered],
        "queue": [turn._asdict() | {"gap": gap_row(turn.gap)} for turn in order.queue],
        "session_id": order.session_id,
        "paused": order.paused,
    }


def gap_row(gap: Gap | None) -> AvroValue | None:
    return None if gap is None else gap._asdict()
