"""What a session remembers for a while: event ids, closed calls, closed thought streams.

It remembers what was recorded among its last 10,000 events and in the last 24 hours, whichever is
more.  Outside that window a row counts as absent, whether it is still there or not; so rows may
be swept late, and are: one timer per row, long after the window's time.  If the row is then still
among the latest (a session that rests), the timer is set again at twice the row's age, so that an
old row costs ever less and is never kept much longer than twice its due.

Time is the session's: the largest record time it has seen, so that what was once forgotten stays
forgotten although a record may be dated before its predecessor.

Source: SAOP/RTES spec, 5.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from streams.engine.processor import AvroValue, Timer, Work
from streams.protocols.saop.rtes.scene import Scene
from topology.declarations import Table
from topology.keys import composite, split
from topology.saop import RTES_CALLS, RTES_IDS, RTES_SESSIONS, RTES_THOUGHTS

SWEEP_LATE_MS = 3_600_000
"""How much later than the window a row is swept, for records that are dated before the tick."""


class Memory(NamedTuple):
    """A table whose rows are forgotten.  sweep: kind of its timers.

    sequence, at: the fields that say when a row was last true to life.
    """

    table: Table
    sweep: str
    sequence: str
    at: str


IDS = Memory(RTES_IDS, "rtes.id", "sequence", "recorded_at")
CALLS = Memory(RTES_CALLS, "rtes.call", "last_sequence", "last_at")
THOUGHTS = Memory(RTES_THOUGHTS, "rtes.thought", "last_sequence", "last_at")
BY_SWEEP = {memory.sweep: memory for memory in (IDS, CALLS, THOUGHTS)}


def known(memory: Memory, row: AvroValue | None, scene: Scene) -> AvroValue | None:
    """The row, when the session still remembers it."""
    if row is None or not _within(memory, row, scene.session, scene.now_ms, scene.settings):
        return None
    return row


def remember(memory: Memory, key: str, row: AvroValue, work: Work) -> None:
    """Keep a row until it is forgotten."""
    work.rows(memory.table).put(key, row)
    due_ms = row[memory.at] + _window_ms(work.settings) + SWEEP_LATE_MS
    _sweep_at(due_ms, memory, key, row, work)


def sweep(timer: Timer, work: Work) -> None:
    """Delete one row that is due, or set its timer again."""
    memory = BY_SWEEP[timer.kind]
    work.cause = f"timer/{memory.table.name}/{timer.key}/{timer.due_ms}"
    rows = work.rows(memory.table)
    row = rows.get(timer.key)
    if row is None or str(row[memory.sequence]) != timer.data["sequence"]:
        return  # it was forgotten and made again, or changed: that row has a timer of its own
    session = work.rows(RTES_SESSIONS).get(composite(split(timer.key)[0]))
    if session is not None and _within(memory, row, session, timer.due_ms, work.settings):
        _sweep_at(2 * timer.due_ms - row[memory.at], memory, timer.key, row, work)
    else:
        rows.delete(timer.key)


def _within(
    memory: Memory, row: AvroValue, session: AvroValue, now_ms: int, settings: Mapping[str, Any]
) -> bool:
    younger = session["last_sequence"] - row[memory.sequence]
    age_ms = now_ms - row[memory.at]
    return bool(younger < settings["RTES_DEDUPE_IDS"] or age_ms < _window_ms(settings))


def _window_ms(settings: Mapping[str, Any]) -> int:
    return 1000 * int(settings["RTES_DEDUPE_S"])


def _sweep_at(due_ms: int, memory: Memory, key: str, row: AvroValue, work: Work) -> None:
    data = {"sequence": str(row[memory.sequence])}
    work.set_timer(Timer(due_ms, memory.sweep, key, data))
