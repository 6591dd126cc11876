"""One SapAck for each command record.

Source: SAP spec, 2.4 and 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from schemas import Problem, canonical_json, sap
from schemas.sap import rules
from streams.engine.processor import AvroValue
from streams.engine.records import Headers
from streams.protocols.sap.processor.inbound import Command
from streams.protocols.sap.processor.scene import Scene
from topology.sap import SAP_ACKS

REPLY_TO = "headrace-reply-to"
MAX_ERRORS = 1000
"""Bounds the ack of an envelope in which every item is wrong."""


class Ruling(NamedTuple):
    """What decides on a command.

    reason: for people, of a NACK.  path: the member at fault.  figures: what the rule rests on.
    problems: every broken rule of the shape, the first one first.  duplicate_of: a position.
    """

    rule: str
    reason: str | None = None
    path: str = ""
    figures: Mapping[str, Any] | None = None
    problems: Sequence[Problem] = ()
    retry_after_ms: int | None = None
    duplicate_of: str | None = None
    fault: str = "sender"

    @property
    def verdict(self) -> str:
        code = self.rule
        accepting = (rules.ACCEPTED.code, rules.DUPLICATE.code)
        return code if code in accepting else "rejected"


class Check(NamedTuple):
    """One check of a list.  rule: its code.  ruling: None if it passed."""

    rule: str
    ruling: Ruling | None


ACCEPTED = Ruling(rules.ACCEPTED.code)


def first(checks: Iterable[Check]) -> Ruling | None:
    """What the first check that did not pass says; later ones are not made."""
    return next((check.ruling for check in checks if check.ruling is not None), None)


def duplicate(position: str) -> Ruling:
    return Ruling(rules.DUPLICATE.code, duplicate_of=position)


def malformed(problems: Sequence[Problem]) -> Ruling:
    first = problems[0]
    place = first.path or "the envelope"
    return Ruling(first.rule, f"{place}: {first.message}", first.path, problems=problems)


def send(
    command: Command,
    ruling: Ruling,
    scene: Scene,
    *,
    warnings: Sequence[str] = (),
    accepted: AvroValue | None = None,
) -> None:
    """Write the SapAck that the record is owed."""
    ack_id = scene.next_id()
    nack = ruling.verdict == "rejected"
    authorization = scene.authorization
    ack = {
        "ackId": ack_id,
        "subject": command.subject,
        "messageId": command.message_id,
        "taskId": command.task_id,
        "correlationId": command.correlation_id,
        "status": "NACK" if nack else "ACK",
        "verdict": ruling.verdict,
        "code": sap.nack_code(ruling.rule, command.subject) if nack else None,
        "rule": ruling.rule,
        "reason": ruling.reason if nack else None,
        "errors": _errors(ruling) if nack else [],
        "warnings": list(warnings),
        "retryAfterMs": ruling.retry_after_ms,
        "fault": ruling.fault if nack else None,
        "envelopeSha256": command.sha256,
        "duplicateOf": ruling.duplicate_of,
        "position": command.cause,
        "accepted": accepted,
        "constitution": scene.constitution.label,
        "authorization": None if authorization is None else authorization.label,
        "figures_json": None if ruling.figures is None else _json(ruling.figures),
        "at": scene.now,
    }
    scene.send(SAP_ACKS, command.ack_key, ack, ack_id, reply_headers(command.reply_to))


def reply_headers(endpoint: str | None) -> Headers:
    return () if endpoint is None else ((REPLY_TO, endpoint.encode()),)


def _errors(ruling: Ruling) -> list[AvroValue]:
    problems = ruling.problems or (Problem(ruling.rule, ruling.path, ruling.reason or ""),)
    return [problem._asdict() for problem in problems[:MAX_ERRORS]]


def _json(value: Mapping[str, Any]) -> str:
    return canonical_json(value).decode()
