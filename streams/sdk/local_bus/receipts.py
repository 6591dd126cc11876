"""Receipts that the bus returns for envelopes: accepted, or refused and why.

Source: SAP guide, 6.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from schemas import Problem


@dataclass(frozen=True, slots=True)
class _Receipt:
    """The members that Ack and Nack share.

    messageId: the taskId, or the signalId.  rule: the rule that decided. errors: every (rule, path,
    message) of an envelope that is not valid.
    """

    messageId: str
    correlationId: str | None = None
    status: str = ""
    reason: str | None = None
    code: str | None = None
    rule: str | None = None
    retryAfterMs: int | None = None
    errors: tuple[Problem, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the receipt as a JSON object; members without a value are null."""
        members = {field.name: getattr(self, field.name) for field in fields(self)}
        return members | {"errors": [problem._asdict() for problem in self.errors]}


@dataclass(frozen=True, slots=True)
class Ack(_Receipt):
    """The envelope was taken on; what it asks for is not done yet.  rule `duplicate`: again."""

    status: str = "ACK"


@dataclass(frozen=True, slots=True)
class Nack(_Receipt):
    """The envelope was not taken on.  Raises ValueError without a reason."""

    status: str = "NACK"

    def __post_init__(self) -> None:
        if not (self.reason or "").strip():
            raise ValueError("a Nack has a reason")


def of_ack(ack: Mapping[str, Any], message_id: str) -> Ack | Nack:
    """Return the receipt for a SapAck (in its JSON form)."""
    kind = Ack if ack["status"] == "ACK" else Nack
    return kind(
        messageId=message_id,
        correlationId=ack["correlationId"],
        reason=ack["reason"],
        code=ack["code"],
        rule=ack["rule"],
        retryAfterMs=ack["retryAfterMs"],
        errors=_problems(ack["errors"]),
    )


def _problems(errors: Sequence[Mapping[str, str]]) -> tuple[Problem, ...]:
    return tuple(Problem(one["rule"], one["path"], one["message"]) for one in errors)
