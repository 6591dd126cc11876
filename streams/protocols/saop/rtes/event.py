"""An event record, parsed once, and the result of a decision on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from schemas import Problem
from schemas.formats import MAX_ID
from schemas.rtes import event_json, rules
from schemas.rules import Rule
from streams.engine.processor import AvroValue, Message, ProcessorContext
from streams.engine.records import header, position
from streams.processing.decision import Decision
from topology.core import DROPPED_KEYS

_MAX_INT = 2**31 - 1
_TRACEPARENT = re.compile(rb"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_NO_EVIDENCE: Mapping[str, Any] = {}

Json = dict[str, Any]


def traceparent_of(message: Message) -> bytes | None:
    """Return the trace context of a record; any other text in the header is left behind."""
    value = header(message.record, "traceparent")
    return value if value is not None and _TRACEPARENT.fullmatch(value) else None


class Event:
    """One record of `rtes.raw`.

    value: RtesEvent.  name, payload: its branch.  json: its JSON form.  at: record time (ms).
    """

    __slots__ = (
        "at",
        "cause",
        "json",
        "message",
        "name",
        "origin",
        "payload",
        "session_id",
        "traceparent",
        "value",
    )

    def __init__(self, message: Message) -> None:
        self.message = message
        self.value: AvroValue = message.value
        self.session_id: str = message.value["session_id"]
        self.origin: str | None = message.value["origin"]
        self.name: str
        self.payload: AvroValue
        self.name, self.payload = message.value["payload"]
        self.at = message.record.timestamp
        self.cause = position(message.record)
        self.json: Json = event_json(message.value)
        self.traceparent = traceparent_of(message)

    @property
    def rejection_session_id(self) -> str:
        """Return the session's id, of one that is too long to be a key the empty text."""
        return self.session_id if len(self.session_id) <= MAX_ID else ""

    def decision(self, ctx: ProcessorContext) -> Decision:
        """Return the context of a decision that needs no session."""
        return Decision(ctx, self.cause, self.at, self.traceparent)

    @property
    def dropped_keys(self) -> int:
        """Return how many unknown members an edge dropped, none if the header is no number."""
        count = header(self.message.record, DROPPED_KEYS.name)
        if count is None or not count.isdigit():
            return 0
        return min(int(count[:11]), _MAX_INT)


def _keep_rows(record: AvroValue) -> None:
    """Change no row, as some events do."""


class Recording(NamedTuple):
    """The decision on an event that is to be recorded.

    task_id: the linked task.  payload: instead of the event's own, None for that.
    apply: changes the rows of what the event is about, by its RtesRecord.
    """

    rule: Rule = rules.RECORDED
    task_id: str | None = None
    flags: tuple[str, ...] = ()
    profile: str | None = None
    payload: AvroValue | None = None
    apply: Callable[[AvroValue], None] = _keep_rows


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why an event is not recorded.

    evidence: the values that the rule used.  path: the invalid member, as a JSON Pointer.
    problems: every violated shape rule, the first one first; empty when the shape is valid.
    first_sequence: for a duplicate, the sequence of the recorded event.
    """

    rule: Rule
    evidence: Mapping[str, Any] = field(default_factory=lambda: _NO_EVIDENCE)
    path: str = ""
    problems: Sequence[Problem] = ()
    first_sequence: int | None = None

    @property
    def duplicate(self) -> bool:
        return self.rule is rules.EVENT_DUPLICATE

    @property
    def trusted(self) -> bool:
        """Return whether the event's shape and key are valid."""
        return not self.problems and self.rule is not rules.KEY_MISMATCH

    @property
    def fault(self) -> str | None:
        if self.duplicate:
            return None
        return "service" if self.rule is rules.OUTPUT_TOO_LARGE else "sender"
