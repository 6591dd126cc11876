"""A session: its state during one decision, and the rows that it stores for a limited time.

It stores event ids, closed calls and closed thought streams: those recorded among its last 10,000
events and in the last 24 hours, whichever is more.  Outside that window a row counts as absent,
whether it still exists or not; so rows may be deleted late: by one timer per row, long after the
window's time.  If the row is then still among the latest (of an idle session), the timer is set
again at twice the row's age, so that an old row costs less and less and exists for at most about
twice its time.

The time is the session's: the largest record time so far, so that an expired row stays expired
although a record may be dated before its predecessor.

Source: SAOP guide, 5.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from schemas.rtes import rules
from streams.engine.processor import AvroValue, ProcessorContext, Timer
from streams.processing.decision import Decision
from streams.protocols.saop.rtes.event import Event, Refusal
from topology.declarations import Table
from topology.keys import composite, split
from topology.saop import RTES_CALLS, RTES_IDS, RTES_SESSIONS, RTES_THOUGHTS

SWEEP_LATE_MS = 3_600_000
"""The delay of a row's deletion after the window, for records dated before the tick."""

NEW: Mapping[str, Any] = {
    "last_sequence": 0,
    "last_recorded_at": 0,
    "active_tasks": [],
    "tasks": 0,
    "last_rewind": 0,
    "prepared_rewind": None,
    "key_block": None,
}
"""The row of a session that has no events."""


class SessionState(Decision):
    """One session, as the decision of one record sees it and leaves it.

    row: its RtesSession row, this decision's own; `save` writes it.
    at: the time of what is recorded now: the record's, but never before an earlier event's.
    """

    __slots__ = ("row", "session_id", "settings")

    def __init__(
        self,
        session_id: str,
        ctx: ProcessorContext,
        cause: str,
        at: int,
        traceparent: bytes | None,
    ) -> None:
        stored = ctx.rows(RTES_SESSIONS).get(composite(session_id))
        self.row: AvroValue = dict(stored or NEW)
        super().__init__(ctx, cause, max(at, self.row["last_recorded_at"]), traceparent)
        self.settings = ctx.settings
        self.session_id = session_id

    @classmethod
    def of(cls, event: Event, ctx: ProcessorContext) -> SessionState:
        return cls(event.session_id, ctx, event.cause, event.at, event.traceparent)

    @property
    def last_sequence(self) -> int:
        sequence: int = self.row["last_sequence"]
        return sequence

    @property
    def is_known(self) -> bool:
        """Return whether the session has any event."""
        return self.last_sequence > 0

    @property
    def active_task(self) -> str | None:
        """Return the session's only active task; None while there are none or several."""
        active: list[str] = self.row["active_tasks"]
        return active[0] if len(active) == 1 else None

    def next_sequence(self) -> int:
        """Take the session's next sequence, at the decision's time."""
        sequence = self.last_sequence + 1
        self.row["last_sequence"] = sequence
        self.row["last_recorded_at"] = self.at
        return sequence

    def set_active(self, task_id: str, active: bool) -> None:
        """Record whether one of the session's own tasks is being worked on."""
        tasks: list[str] = self.row["active_tasks"]
        if active and task_id not in tasks:
            self.row["active_tasks"] = [*tasks, task_id]
        elif not active and task_id in tasks:
            self.row["active_tasks"] = [task for task in tasks if task != task_id]

    def save(self) -> None:
        self.work.rows(RTES_SESSIONS).put(composite(self.session_id), self.row)


class ExpiringTable(NamedTuple):
    """A table whose rows expire.  timer: kind of its timers.

    sequence, at: the fields with the sequence and the time of the row's last use.
    """

    table: Table
    timer: str
    sequence: str
    at: str


IDS = ExpiringTable(RTES_IDS, "rtes.id", "sequence", "recorded_at")
CALLS = ExpiringTable(RTES_CALLS, "rtes.call", "last_sequence", "last_at")
THOUGHTS = ExpiringTable(RTES_THOUGHTS, "rtes.thought", "last_sequence", "last_at")
_BY_TIMER = {each.timer: each for each in (IDS, CALLS, THOUGHTS)}


def recall(table: ExpiringTable, row: AvroValue | None, session: SessionState) -> AvroValue | None:
    """Return the row, if the session still remembers it."""
    if row is None or not _is_within(table, row, session.row, session.at, session.settings):
        return None
    return row


def remember(table: ExpiringTable, key: str, row: AvroValue, ctx: ProcessorContext) -> None:
    """Store a row until it expires."""
    ctx.rows(table.table).put(key, row)
    due_ms = row[table.at] + _window_ms(ctx.settings) + SWEEP_LATE_MS
    _expire_at(due_ms, table, key, row, ctx)


def expire(timer: Timer, ctx: ProcessorContext) -> None:
    """Delete one row that is due, or set its timer again."""
    table = _BY_TIMER[timer.kind]
    cause = f"timer/{table.table.name}/{timer.key}/{timer.due_ms}"
    rows = Decision(ctx, cause, timer.due_ms).work.rows(table.table)
    row = rows.get(timer.key)
    if row is None or str(row[table.sequence]) != timer.data["sequence"]:
        return  # the row was deleted and written again, or changed: it has another timer
    session = ctx.rows(RTES_SESSIONS).get(composite(split(timer.key)[0]))
    if session is not None and _is_within(table, row, session, timer.due_ms, ctx.settings):
        _expire_at(2 * timer.due_ms - row[table.at], table, timer.key, row, ctx)
    else:
        rows.delete(timer.key)


def _is_within(
    table: ExpiringTable,
    row: AvroValue,
    session: AvroValue,
    now_ms: int,
    settings: Mapping[str, Any],
) -> bool:
    younger = session["last_sequence"] - row[table.sequence]
    age_ms = now_ms - row[table.at]
    return bool(younger < settings["RTES_DEDUPE_IDS"] or age_ms < _window_ms(settings))


def _window_ms(settings: Mapping[str, Any]) -> int:
    return 1000 * int(settings["RTES_DEDUPE_S"])


def _expire_at(
    due_ms: int, table: ExpiringTable, key: str, row: AvroValue, ctx: ProcessorContext
) -> None:
    data = {"sequence": str(row[table.sequence])}
    ctx.set_timer(Timer(due_ms, table.timer, key, data))


def id_key(session_id: str, event_id: str) -> str:
    return composite(session_id, event_id.lower())


def check_repeated(event_id: str, digest: str, session: SessionState) -> Refusal | None:
    """Refuse an event that the session has already.  digest: its content hash."""
    row = session.work.rows(RTES_IDS).get(id_key(session.session_id, event_id))
    row = recall(IDS, row, session)
    if row is None:
        return None
    first = row["sequence"]
    if row["content_hash"] == digest:
        return Refusal(rules.EVENT_DUPLICATE, first_sequence=first)
    return Refusal(rules.EVENT_ID_CONFLICT, {"first_sequence": first}, "/event_id")


def remember_id(event_id: str, digest: str, sequence: int, session: SessionState) -> None:
    """Store the id of a recorded event."""
    row = {"sequence": sequence, "content_hash": digest, "recorded_at": session.at}
    remember(IDS, id_key(session.session_id, event_id), row, session.work)
