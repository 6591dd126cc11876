"""Writing what was put in order: the log, its lineage, what the detectors find.

The turns of one task are written in the order of its queue, up to a bound in bytes at a time: 64
turns of a megabyte that were held together would otherwise be too much for one transaction.  The
rest is written with the next record of the task, or by a timer that is due at once.

Source: SAOP/RTES spec, 5.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemas import uuid5_url
from streams.engine.processor import Timer, Work
from streams.protocols.saop.processor import lineage
from streams.protocols.saop.processor.detectors import Thresholds
from streams.protocols.saop.processor.escalations import AGENTS, watch_turn
from streams.protocols.saop.processor.inbound import Turn, held_row, held_turn
from streams.protocols.saop.processor.ordering import Order, Release
from streams.protocols.saop.processor.rows import gap_row, timer_key, turn_key
from topology.keeping import KIB, MIB
from topology.keys import composite
from topology.saop import SAOP_DETECTORS, SAOP_LOG, SAOP_TURNS_HELD

HOLD, WRITE = "saop.held", "saop.write"
"""Timers: a turn has been held for its time; the queue of a task is to be written."""

PORTION_BYTES = 32 * MIB
_OVERHEAD = 4 * KIB
"""Bytes that a turn causes besides its own: names in keys, headers, edges and rows."""


class Portion:
    """How much may still be written in one go; at least one turn at first."""

    def __init__(self, size: int | None = None) -> None:
        self._left = PORTION_BYTES if size is None else size
        self._fresh = True

    def take(self, queue: tuple[Release, ...]) -> int:
        """How many of these may be written now."""
        for count, release in enumerate(queue):
            if release.size > self._left and not self._fresh:
                return count
            self._left -= release.size
            self._fresh = False
        return len(queue)


def size_of(body: int, task_id: bytes) -> int:
    """Bytes that a turn with an envelope of this size causes when it is logged."""
    return body + 8 * len(task_id) + _OVERHEAD


def write(
    task_id: str, order: Order, new: Turn | None, portion: Portion, now_ms: int, work: Work
) -> Order:
    """Write the head of the queue.  new: the turn that has just come, if it was accepted.

    A new turn that is not written now gets a row, and its timer when it is held.
    """
    count = portion.take(order.queue)
    releases, rest = order.queue[:count], order.queue[count:]
    last = order.last_logged
    if releases:
        limits = Thresholds.of(work.settings)
        for release, turn in _turns(task_id, releases, new, work):
            _log(task_id, release, turn, last, limits, work)
            last = release.turn_index
            new = None if turn is new else new
    if new is not None:
        _keep(task_id, order, new, work)
    if rest:
        cause = work.cause
        work.set_timer(Timer(now_ms, WRITE, composite(task_id), {"cause": cause}))
    return order._replace(queue=rest, last_logged=last)


def _turns(
    task_id: str, releases: tuple[Release, ...], new: Turn | None, work: Work
) -> Iterator[tuple[Release, Turn]]:
    """Each turn to be written; those that were kept are kept no longer."""
    own = None if new is None else new.value["turn_index"]
    kept = {r.turn_index: turn_key(task_id, r.turn_index) for r in releases if r.turn_index != own}
    rows = work.rows(SAOP_TURNS_HELD)
    if kept:
        rows.load(kept.values())
        work.rows(SAOP_DETECTORS).load(composite(task_id, agent) for agent in AGENTS)
    for release in releases:
        if release.turn_index == own:
            assert new is not None
            yield release, new
            continue
        row = rows.get(kept[release.turn_index])
        assert row is not None, "a turn that waits has a row"
        work.cause = row["cause"]
        work.vouch(row["cause"], row["principal"])
        rows.delete(kept[release.turn_index])
        if release.held:
            work.delete_timer(row["due_at"], HOLD, timer_key(task_id, release.turn_index))
        yield release, held_turn(row)


def _keep(task_id: str, order: Order, turn: Turn, work: Work) -> None:
    index = turn.value["turn_index"]
    due_at = next((place.due_at for place in order.held if place.turn_index == index), None)
    at = turn.received_at if due_at is None else due_at
    row = held_row(turn, at, work.sender(turn.cause))
    work.cause = turn.cause
    work.rows(SAOP_TURNS_HELD).put(turn_key(task_id, index), row)
    if due_at is not None:
        data = {"cause": turn.cause}
        work.set_timer(Timer(due_at, HOLD, timer_key(task_id, index), data))


def _log(
    task_id: str, release: Release, turn: Turn, before: int | None, limits: Thresholds, work: Work
) -> None:
    """Write the SaopTurnLogged; before: the turn that was logged last."""
    logged = {
        "turn": turn.written,
        "canonical_hash": turn.canonical_hash,
        "held": release.held,
        "gap": gap_row(release.gap),
        "dropped_keys": turn.dropped_keys,
        "received_at": turn.received_at,
        "at": release.at,
        "cause": turn.cause,
    }
    work.cause = turn.cause
    work.send(
        SAOP_LOG,
        task_id,
        logged,
        id=uuid5_url(f"headrace:{turn.cause}/1"),
        at=release.at,
        cause=turn.cause,
        traceparent=turn.traceparent,
    )
    lineage.of_turn(task_id, before, turn, release.at, work)
    watch_turn(task_id, turn, release.at, limits, work)
