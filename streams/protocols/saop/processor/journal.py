"""The writing of released turns: the log, its lineage, and the findings of the detectors.

The turns of one task are written in the order of its queue, up to a limit in bytes at a time: 64
held turns of a megabyte each would be too much for one transaction.  The remaining turns are
written with the next record of the task, or by a timer that is due at once.

Source: SAOP guide, 5.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemas import uuid5_url
from streams.engine.headers import trace_id
from streams.engine.processor import ProcessorContext, Timer
from streams.processing.decision import Decision
from streams.processing.graph import LineageEdge
from streams.protocols.saop.lineage import task_node, turn_node
from streams.protocols.saop.processor.detectors import Thresholds
from streams.protocols.saop.processor.escalations import AGENTS, watch_turn
from streams.protocols.saop.processor.ordering import (
    ReadyTurn,
    TurnOrder,
    gap_row,
    timer_key,
    turn_key,
)
from streams.protocols.saop.processor.turn import AcceptedTurn, held_row, held_turn
from topology.keys import composite
from topology.retention import KIB, MIB
from topology.saop import SAOP_DETECTORS, SAOP_LOG, SAOP_TURNS_HELD

HOLD, WRITE = "saop.held", "saop.write"
"""Timers: a held turn is due; the queue of a task must be written."""

BUDGET_BYTES = 32 * MIB
_OVERHEAD = 4 * KIB
"""Bytes written for a turn besides its value: names in keys, headers, edges and rows."""


class WriteBudget:
    """Limits how much is written in one go; the first turn is always written."""

    def __init__(self, size: int | None = None) -> None:
        self._left = BUDGET_BYTES if size is None else size
        self._is_unused = True

    def take(self, queue: tuple[ReadyTurn, ...]) -> int:
        """Return how many of these may be written now."""
        for count, ready in enumerate(queue):
            if ready.size > self._left and not self._is_unused:
                return count
            self._left -= ready.size
            self._is_unused = False
        return len(queue)


def size_of(body: int, task_id: bytes) -> int:
    """Return the bytes that a turn with an envelope of this size causes when it is logged."""
    return body + 8 * len(task_id) + _OVERHEAD


def write(
    task_id: str,
    order: TurnOrder,
    new: AcceptedTurn | None,
    budget: WriteBudget,
    decision: Decision,
) -> TurnOrder:
    """Write the head of the queue.  new: the turn that has just come, if it was accepted.

    A new turn that is not written now gets a row, and its timer when it is held.  Each turn is
    written in the name of its own record.
    """
    count = budget.take(order.queue)
    ready_turns, remaining = order.queue[:count], order.queue[count:]
    last, work, latest = order.last_logged, decision.work, decision
    if ready_turns:
        limits = Thresholds.of(work.settings)
        for ready, turn, latest in _turns(task_id, ready_turns, new, work):
            _log(task_id, ready, turn, last, latest)
            watch_turn(task_id, order.session_id, turn, limits, latest)
            last = ready.turn_index
            new = None if turn is new else new
    if new is not None:
        latest = _put_held(task_id, order, new, work)
    if remaining:
        data = {"cause": latest.cause}
        work.set_timer(Timer(decision.at, WRITE, composite(task_id), data))
    return order._replace(queue=remaining, last_logged=last)


def _turns(
    task_id: str,
    ready_turns: tuple[ReadyTurn, ...],
    new: AcceptedTurn | None,
    ctx: ProcessorContext,
) -> Iterator[tuple[ReadyTurn, AcceptedTurn, Decision]]:
    """Yield each turn to be written; the rows of those that had one are deleted."""
    new_index = None if new is None else new.value["turn_index"]
    indexes = [ready.turn_index for ready in ready_turns if ready.turn_index != new_index]
    keys = {index: turn_key(task_id, index) for index in indexes}
    rows = ctx.rows(SAOP_TURNS_HELD)
    if keys:
        rows.load(keys.values())
        ctx.rows(SAOP_DETECTORS).load(composite(task_id, agent) for agent in AGENTS)
    for ready in ready_turns:
        if ready.turn_index == new_index:
            assert new is not None
            yield ready, new, new.decision(ready.at, ctx)
            continue
        row = rows.get(keys[ready.turn_index])
        assert row is not None, "a turn that waits has a row"
        turn = held_turn(row)
        decision = turn.decision(ready.at, ctx)
        ctx.set_principal(turn.cause, row["principal"])
        rows.delete(keys[ready.turn_index])
        if ready.held:
            ctx.delete_timer(row["due_at"], HOLD, timer_key(task_id, ready.turn_index))
        yield ready, turn, decision


def _put_held(
    task_id: str, order: TurnOrder, turn: AcceptedTurn, ctx: ProcessorContext
) -> Decision:
    """Store a turn that is not written yet; return the decision that does so."""
    index = turn.value["turn_index"]
    due_at = next((each.due_at for each in order.buffered if each.turn_index == index), None)
    at = turn.received_at if due_at is None else due_at
    decision = turn.decision(at, ctx)
    ctx.rows(SAOP_TURNS_HELD).put(
        turn_key(task_id, index), held_row(turn, at, ctx.sender(turn.cause))
    )
    if due_at is not None:
        data = {"cause": turn.cause}
        ctx.set_timer(Timer(due_at, HOLD, timer_key(task_id, index), data))
    return decision


def _log(
    task_id: str,
    ready: ReadyTurn,
    turn: AcceptedTurn,
    before: int | None,
    decision: Decision,
) -> None:
    """Write the SaopTurnLogged.  before: the turn that was logged last."""
    logged = {
        "turn": turn.written,
        "canonical_hash": turn.canonical_hash,
        "held": ready.held,
        "gap": gap_row(ready.gap),
        "dropped_keys": turn.dropped_keys,
        "received_at": turn.received_at,
        "at": ready.at,
        "cause": turn.cause,
    }
    decision.send(SAOP_LOG, task_id, logged, uuid5_url(f"headrace:{turn.cause}/1"))
    decision.emit_edge(*_edges(task_id, before, turn))


def _edges(task_id: str, before: int | None, turn: AcceptedTurn) -> Iterator[LineageEdge]:
    """Yield what a logged turn is part of, follows, and was made in."""
    node = turn_node(task_id, turn.value["turn_index"])
    yield LineageEdge(node, "part_of", task_node(task_id))
    if before is not None:
        yield LineageEdge(node, "derived_from", turn_node(task_id, before))
    trace = trace_id(turn.traceparent)
    if trace is not None:
        yield LineageEdge(node, "same_trace", f"trace:{trace}")
