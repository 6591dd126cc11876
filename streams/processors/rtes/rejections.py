"""An event that is not recorded leaves one fact that says why, and no secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from schemas import Problem, canonical_json, uuid5_url
from schemas.rtes import MAX_ERRORS, event_json, rules
from schemas.rules import Rule
from streams.engine.processor import AvroValue, Message, Work
from streams.engine.records import header, position
from streams.processors.rtes import withheld
from topology.topics import RTES_REJECTIONS

_NO_FIGURES: Mapping[str, Any] = {}
_SERVICE = frozenset({rules.NOT_YET, rules.OUTPUT_TOO_LARGE})
_UNTRUSTED = frozenset({rules.KEY_MISMATCH, rules.NOT_YET})
"""Rules whose events are withheld like events of a wrong shape."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an event is not recorded.

    figures: what the rule rests on.  path: the member at fault, as a JSON Pointer.
    problems: every broken shape rule, first error first; empty when the shape is right.
    first_sequence: of a duplicate, the sequence that the event was given.
    """

    rule: Rule
    figures: Mapping[str, Any] = field(default_factory=lambda: _NO_FIGURES)
    path: str = ""
    problems: Sequence[Problem] = ()
    first_sequence: int | None = None

    @property
    def duplicate(self) -> bool:
        return self.rule is rules.EVENT_DUPLICATE


def send(message: Message, refusal: Refusal, work: Work, *, keep_event: bool = True) -> None:
    """Write the RtesRejection of a record; without `keep_event` it does not hold the event."""
    record = message.record
    cause = position(record)
    work.send(
        RTES_REJECTIONS,
        message.value["session_id"],
        _rejection(message, refusal, cause, keep_event and not refusal.duplicate),
        id=uuid5_url(f"headrace:{cause}/0"),
        at=record.timestamp,
        cause=cause,
        traceparent=header(record, "traceparent"),
    )


def _rejection(message: Message, refusal: Refusal, cause: str, keep_event: bool) -> AvroValue:
    event = event_json(message.value)
    valid = not refusal.problems and refusal.rule not in _UNTRUSTED
    kept = canonical_json(withheld.event(event, valid=valid)).decode() if keep_event else None
    return {
        "verdict": "duplicate" if refusal.duplicate else "rejected",
        "rule": refusal.rule.code,
        "fault": _fault(refusal),
        "event_id": withheld.text(event["event_id"]),
        "session_id": event["session_id"],
        "type": withheld.text(event["payload"]["type"]),
        "figures_json": canonical_json(withheld.figures(refusal.figures)).decode(),
        "errors": _errors(refusal),
        "first_sequence": refusal.first_sequence,
        "event_json": kept,
        "at": message.record.timestamp,
        "cause": cause,
    }


def _fault(refusal: Refusal) -> str | None:
    if refusal.duplicate:
        return None
    return "service" if refusal.rule in _SERVICE else "sender"


def _errors(refusal: Refusal) -> list[AvroValue]:
    """The broken shape rules, or the one rule that decided; messages never quote a value."""
    if refusal.duplicate:
        return []
    problems = refusal.problems or (Problem(refusal.rule.code, refusal.path, refusal.rule.meaning),)
    return [
        {"rule": rule, "path": withheld.pointer(path), "message": message}
        for rule, path, message in problems[:MAX_ERRORS]
    ]
