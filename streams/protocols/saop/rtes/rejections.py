"""An event that is not recorded leaves one fact that says why, and no secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from schemas import Problem, canonical_json, uuid5_url
from schemas.members import MAX_ERRORS
from schemas.rtes import rules
from schemas.rules import Rule
from streams.engine.processor import AvroValue, Work
from streams.masking import Masker
from streams.masking.configured import masker_of
from streams.protocols.saop.rtes import masks
from streams.protocols.saop.rtes.inbound import Event
from streams.protocols.saop.rtes.scene import Scene
from topology.saop import RTES_REJECTIONS

_NO_FIGURES: Mapping[str, Any] = {}
_VERBATIM = ("chunk",)
"""Members of a payload that are never masked."""


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

    @property
    def trusted(self) -> bool:
        """Whether the event is what it says: its shape is right, and so is its key."""
        return not self.problems and self.rule is not rules.KEY_MISMATCH


def send(event: Event, refusal: Refusal, work: Work, *, keep_event: bool = True) -> None:
    """Write the RtesRejection of a record; without `keep_event` it does not hold the event."""
    masker = masker_of(work.settings)
    kept = None
    if keep_event and not refusal.duplicate:
        kept = canonical_json(_event(event, refusal, masker, work)).decode()
    rejection = {
        "verdict": "duplicate" if refusal.duplicate else "rejected",
        "rule": refusal.rule.code,
        "fault": _fault(refusal),
        "event_id": masker.text(event.value["event_id"]),
        "session_id": event.session_id,
        "type": masker.text(event.json["payload"]["type"]),
        "figures_json": canonical_json(masker.everything(dict(refusal.figures))).decode(),
        "errors": _errors(refusal, masker),
        "first_sequence": refusal.first_sequence,
        "event_json": kept,
        "at": event.at,
        "cause": event.cause,
    }
    work.send(
        RTES_REJECTIONS,
        event.session_id,
        rejection,
        id=uuid5_url(f"headrace:{event.cause}/0"),
        at=event.at,
        cause=event.cause,
        traceparent=event.traceparent,
    )


def _event(event: Event, refusal: Refusal, masker: Masker, work: Work) -> Any:
    """Every string masked, but for the thought of an event that is what it says (spec 9.1)."""
    if not refusal.trusted:
        return masker.everything(event.json)
    scene = Scene(event.session_id, event.at, work)
    shown = masks.for_rejection(event, masks.stateless(event, masker), masker, scene)
    kept = {name: shown["payload"][name] for name in _VERBATIM if name in shown["payload"]}
    everything: dict[str, Any] = masker.everything(shown)
    return {**everything, "payload": {**everything["payload"], **kept}}


def _fault(refusal: Refusal) -> str | None:
    if refusal.duplicate:
        return None
    return "service" if refusal.rule is rules.OUTPUT_TOO_LARGE else "sender"


def _errors(refusal: Refusal, masker: Masker) -> list[AvroValue]:
    """The broken shape rules, or the one rule that decided; messages never quote a value."""
    if refusal.duplicate:
        return []
    problems = refusal.problems or (Problem(refusal.rule.code, refusal.path, refusal.rule.meaning),)
    return [
        {"rule": rule, "path": masker.text(path), "message": message}
        for rule, path, message in problems[:MAX_ERRORS]
    ]
