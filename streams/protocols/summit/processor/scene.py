"""One decision: what it rests on, what it writes, and the ids it gives out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas import uuid5_url
from streams.engine.headers import iso
from streams.engine.processor import AvroValue, Message, Timer, Work
from streams.engine.records import header, position
from streams.processing.decision import Decision, traceparent_of


class Scene(Decision):
    """cause: the position of the deciding record, of a tick that of the call.

    at: ms; the record's timestamp, of a tick the due time.  event_id: of its one fact.
    """

    __slots__ = ("_reported", "event_id")

    def __init__(
        self, work: Work, cause: str, at: int, traceparent: bytes | None, event_id: str
    ) -> None:
        super().__init__(work, cause, at, traceparent)
        self.event_id = event_id
        self._reported = 0

    @property
    def time(self) -> str:
        """Now, ISO 8601 in UTC with milliseconds."""
        return iso(self.at).decode()

    def setting(self, name: str) -> Any:
        return self.work.settings[f"SUMMIT_{name}"]

    def report(self, session_id: str, record: str, payload: Mapping[str, Any]) -> None:
        """Tell RTES.  record: of the payload, which gets its timestamp here."""
        event_id = uuid5_url(f"headrace:summit:{self.event_id}:{self._reported}")
        self._reported += 1
        dated = {**payload, "timestamp": self.time}
        self.tell_rtes("summit", event_id, session_id, record, dated)


def of_record(message: Message, work: Work) -> Scene:
    """The decision on a record."""
    record = message.record
    cause = position(record)
    parent = header(record, "traceparent")
    return Scene(work, cause, record.timestamp, parent, f"{cause}/0")


def of_tick(timer: Timer, row: AvroValue, work: Work) -> Scene:
    """The decision that a run's timer makes, dated when it was due.  row: SummitRun."""
    cause = row["evidence"]["callPosition"]
    return Scene(work, cause, row["dueAt"], traceparent_of(timer), timeout_id(row))


def of_overdue(late: Scene, row: AvroValue) -> Scene:
    """The same, of a record that came too late to its run."""
    return Scene(late.work, late.cause, late.at, late.traceparent, timeout_id(row))


def timeout_id(row: AvroValue) -> str:
    return f"{row['evidence']['callPosition']}/timeout"
