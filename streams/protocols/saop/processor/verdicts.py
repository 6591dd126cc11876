"""One verdict per turn record.

Source: SAOP/RTES spec, 2.3 (SaopVerdict) and 3.1 (figures).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from schemas import Problem, canonical_json, saop, uuid5_url
from schemas.rules import Rule
from schemas.saop import rules
from streams.engine.processor import AvroValue, Work
from streams.protocols.saop.processor.inbound import Inbound
from topology.keeping import KIB
from topology.saop import SAOP_VERDICTS

LONGEST_ID = 256 * KIB
"""Bytes of a task id that still fits everything that names it: keys, headers, edges."""

_NO_FIGURES: Mapping[str, Any] = {}
_DISPOSITIONS = {rules.TURN_LOGGED: "logged", rules.TURN_HELD: "held"}
"""Of the rules that accept a turn."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What decides on a record.

    figures: what the rule rests on.  path: the member at fault, as a JSON Pointer.
    problems: every broken shape rule, first error first; empty when the shape is right.
    """

    rule: Rule
    figures: Mapping[str, Any] = field(default_factory=lambda: _NO_FIGURES)
    path: str = ""
    problems: Sequence[Problem] = ()

    @property
    def verdict(self) -> str:
        if self.rule in _DISPOSITIONS:
            return "accepted"
        return "duplicate" if self.rule is rules.TURN_DUPLICATE else "rejected"

    @property
    def fault(self) -> str | None:
        if self.verdict != "rejected":
            return None
        return "service" if self.rule is rules.OUTPUT_TOO_LARGE else "sender"


def send(turn: Inbound, ruling: Ruling, work: Work) -> None:
    """Write the SaopVerdict of a record; what is too large is not held by it."""
    named = len(turn.key) <= LONGEST_ID
    work.send(
        SAOP_VERDICTS,
        turn.task_id if named else "",
        _verdict(turn, ruling, named),
        id=uuid5_url(f"headrace:{turn.cause}/0"),
        at=turn.at,
        cause=turn.cause,
        traceparent=turn.traceparent,
    )


def _verdict(turn: Inbound, ruling: Ruling, named: bool) -> AvroValue:
    verdict, rule = ruling.verdict, ruling.rule
    kept = verdict == "rejected" and rule is not rules.OUTPUT_TOO_LARGE
    return {
        "verdict": verdict,
        "rule": rule.code,
        "fault": ruling.fault,
        "task_id": turn.task_id if named else None,
        "turn_index": turn.turn_index,
        "agent_id": turn.value["agent_id"],
        "disposition": _DISPOSITIONS.get(rule, "none"),
        "canonical_hash": None if ruling.problems else turn.canonical_hash,
        "dropped_keys": turn.dropped_keys,
        "figures_json": canonical_json(ruling.figures).decode(),
        "errors": _errors(ruling) if verdict == "rejected" else [],
        "turn_json": canonical_json(turn.json).decode() if kept else None,
        "at": turn.at,
        "cause": turn.cause,
    }


def _errors(ruling: Ruling) -> list[AvroValue]:
    """The broken shape rules, or the one rule that decided; messages never quote a value."""
    rule = ruling.rule
    problems = ruling.problems or (Problem(rule.code, ruling.path, rule.meaning),)
    return [problem._asdict() for problem in problems[: saop.MAX_ERRORS]]
