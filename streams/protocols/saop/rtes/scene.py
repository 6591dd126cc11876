"""A session, as the judges of one record see it and as they leave it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.engine.processor import AvroValue, Work
from topology.keys import composite
from topology.saop import RTES_SESSIONS

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


class Scene:
    """One session during one record.

    session: its RtesSession row, the judge's own; `save` keeps it.
    now_ms: the time of what is recorded now: the record's, but never before an earlier event's.
    """

    __slots__ = ("now_ms", "session", "session_id", "settings", "work")

    def __init__(self, session_id: str, at: int, work: Work) -> None:
        self.work = work
        self.settings = work.settings
        self.session_id = session_id
        row = work.rows(RTES_SESSIONS).get(composite(session_id))
        self.session: AvroValue = dict(row or NEW)
        self.now_ms: int = max(at, self.session["last_recorded_at"])

    @property
    def last_sequence(self) -> int:
        sequence: int = self.session["last_sequence"]
        return sequence

    @property
    def known(self) -> bool:
        """Whether the session has any event."""
        return self.last_sequence > 0

    @property
    def active_task(self) -> str | None:
        """The session's only active task; None while there are none or several."""
        active: list[str] = self.session["active_tasks"]
        return active[0] if len(active) == 1 else None

    def next_sequence(self) -> int:
        """Takes the session's next sequence, at the scene's time."""
        sequence = self.last_sequence + 1
        self.session["last_sequence"] = sequence
        self.session["last_recorded_at"] = self.now_ms
        return sequence

    def set_active(self, task_id: str, active: bool) -> None:
        """Whether one of the session's own tasks is worked on."""
        tasks: list[str] = self.session["active_tasks"]
        if active and task_id not in tasks:
            self.session["active_tasks"] = [*tasks, task_id]
        elif not active and task_id in tasks:
            self.session["active_tasks"] = [task for task in tasks if task != task_id]

    def save(self) -> None:
        self.work.rows(RTES_SESSIONS).put(composite(self.session_id), self.session)
