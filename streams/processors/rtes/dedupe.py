"""An event id counts once per session, for as long as the session remembers it.

It remembers the ids of its last 10,000 events and those of the last 24 hours, whichever are more.
An id outside that window is unknown, whether its row is still there or not; so rows may be swept
late, and are: one timer per id, long after the window's time.  If the id is then still among the
latest (a session that rests), the timer is set again at twice the id's age, so that an old id
costs ever less and a row is never kept much longer than twice its due.

Time is the session's: the largest record time it has seen, so that an id once forgotten stays
forgotten although a record may be dated before its predecessor.

Source: SAOP/RTES spec, 5.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.engine.processor import AvroValue, Timer, Work
from topology.keys import composite, split
from topology.tables import RTES_IDS, RTES_SESSIONS

SWEEP = "rtes.id"
SWEEP_LATE_MS = 3_600_000
"""How much later than the window a row is swept, for records that are dated before the tick."""


def id_key(session_id: str, event_id: str) -> str:
    return composite(session_id, event_id.lower())


def known(session: AvroValue, row: AvroValue | None, now_ms: int, work: Work) -> AvroValue | None:
    """The row of an event id, when the session still remembers it at `now_ms`."""
    if row is None or not _within(session, row, now_ms, work.settings):
        return None
    return row


def remember(key: str, row: AvroValue, work: Work) -> None:
    """Keep the RtesId row of an event that was recorded."""
    work.rows(RTES_IDS).put(key, row)
    _sweep_at(row["recorded_at"] + _window_ms(work.settings) + SWEEP_LATE_MS, key, row, work)


def sweep(timer: Timer, work: Work) -> None:
    """Delete one row that is due, or set its timer again."""
    work.cause = f"timer/{RTES_IDS.name}/{timer.key}/{timer.due_ms}"
    rows = work.rows(RTES_IDS)
    row = rows.get(timer.key)
    if row is None or str(row["sequence"]) != timer.data["sequence"]:
        return  # the id was forgotten and given again: that row has a timer of its own
    session = work.rows(RTES_SESSIONS).get(composite(split(timer.key)[0]))
    if session is not None and _within(session, row, timer.due_ms, work.settings):
        _sweep_at(2 * timer.due_ms - row["recorded_at"], timer.key, row, work)
    else:
        rows.delete(timer.key)


def _within(session: AvroValue, row: AvroValue, now_ms: int, settings: Mapping[str, Any]) -> bool:
    younger = session["last_sequence"] - row["sequence"]
    age_ms = now_ms - row["recorded_at"]
    return bool(younger < settings["RTES_DEDUPE_IDS"] or age_ms < _window_ms(settings))


def _window_ms(settings: Mapping[str, Any]) -> int:
    return 1000 * int(settings["RTES_DEDUPE_S"])


def _sweep_at(due_ms: int, key: str, row: AvroValue, work: Work) -> None:
    work.set_timer(Timer(due_ms, SWEEP, key, {"sequence": str(row["sequence"])}))
