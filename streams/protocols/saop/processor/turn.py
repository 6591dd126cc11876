"""A turn record as read, its verdict, and an accepted turn until it is logged.

Source: SAOP guide, 2.3 (SaopVerdict) and 3.1 (figures).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from schemas import AvroBody, Problem, canonical_json, saop, uuid5_url
from schemas.formats import MAX_ID
from schemas.rules import Rule
from schemas.saop import rules
from streams.engine.processor import AvroValue, Message, ProcessorContext
from streams.engine.records import header, position
from streams.processing.decision import Decision
from topology.core import DROPPED_KEYS
from topology.saop import SAOP_VERDICTS

_MAX_INT = 2**31 - 1
_TRACEPARENT_BYTES = 128
"""Maximum length; W3C's has 55 bytes.  A longer one is not stored with a held turn."""

_NO_EVIDENCE: Mapping[str, Any] = {}
_DISPOSITIONS = {rules.TURN_LOGGED: "logged", rules.TURN_HELD: "held"}
"""The dispositions of the rules that accept a turn."""


class TurnRecord:
    """One record of `saop.turns`.  json: the envelope as read.  cause: its position."""

    def __init__(self, message: Message) -> None:
        record = message.record
        self.message = message
        self.value = message.value
        self.task_id: str = message.value["metadata"]["task_id"]
        self.turn_index: int = message.value["turn_index"]
        self.key = self.task_id.encode()
        self.at = record.timestamp
        self.cause = position(record)
        self.traceparent = header(record, "traceparent")
        self.dropped_keys = _dropped_keys(header(record, DROPPED_KEYS.name))
        self.json = saop.turn_json(message.value)

    def decision(self, ctx: ProcessorContext) -> Decision:
        """Return the context of the decision about the record."""
        return Decision(ctx, self.cause, self.at, self.traceparent)

    @cached_property
    def canonical_hash(self) -> str:
        """Return the hash of a turn whose shape is right."""
        return saop.turn_hash(self.json)

    @property
    def valid_task_id(self) -> str | None:
        """Return the task's id unless it is too long to be a key."""
        return self.task_id if len(self.task_id) <= MAX_ID else None

    @property
    def size(self) -> int:
        """Return the bytes of the envelope."""
        return len(self.message.body)

    def accept(self) -> AcceptedTurn:
        message = self.message
        return AcceptedTurn(
            self.value,
            AvroBody(message.body) if message.current else self.value,
            self.canonical_hash,
            self.dropped_keys,
            self.at,
            self.cause,
            self.traceparent,
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a record.

    evidence: the values that the rule used.  path: the invalid member, as a JSON Pointer.
    problems: every violated shape rule, the first one first; empty when the shape is valid.
    """

    rule: Rule
    evidence: Mapping[str, Any] = field(default_factory=lambda: _NO_EVIDENCE)
    path: str = ""
    problems: Sequence[Problem] = ()

    @property
    def kind(self) -> str:
        if self.rule in _DISPOSITIONS:
            return "accepted"
        return "duplicate" if self.rule is rules.TURN_DUPLICATE else "rejected"

    @property
    def fault(self) -> str | None:
        if self.kind != "rejected":
            return None
        return "service" if self.rule is rules.OUTPUT_TOO_LARGE else "sender"


def send_verdict(turn: TurnRecord, verdict: Verdict, decision: Decision) -> None:
    """Write the SaopVerdict of a record, without the values that are too large."""
    id = uuid5_url(f"headrace:{turn.cause}/0")
    decision.send(SAOP_VERDICTS, turn.valid_task_id or "", _fact(turn, verdict), id)


def _fact(turn: TurnRecord, verdict: Verdict) -> AvroValue:
    kind, rule = verdict.kind, verdict.rule
    holds_turn = kind == "rejected" and rule is not rules.OUTPUT_TOO_LARGE
    return {
        "verdict": kind,
        "rule": rule.code,
        "fault": verdict.fault,
        "task_id": turn.valid_task_id,
        "turn_index": turn.turn_index,
        "agent_id": turn.value["agent_id"],
        "disposition": _DISPOSITIONS.get(rule, "none"),
        "canonical_hash": None if verdict.problems else turn.canonical_hash,
        "dropped_keys": turn.dropped_keys,
        "figures_json": canonical_json(verdict.evidence).decode(),
        "errors": _errors(verdict) if kind == "rejected" else [],
        "turn_json": canonical_json(turn.json).decode() if holds_turn else None,
        "at": turn.at,
        "cause": turn.cause,
    }


def _errors(verdict: Verdict) -> list[AvroValue]:
    """Return the broken shape rules, or the one rule that decided; no message quotes a value."""
    rule = verdict.rule
    problems = verdict.problems or (Problem(rule.code, verdict.path, rule.meaning),)
    return [problem._asdict() for problem in problems[: saop.MAX_ERRORS]]


class AcceptedTurn(NamedTuple):
    """An accepted turn.  written: its value as encoded in records that contain it."""

    value: AvroValue
    written: AvroValue | AvroBody
    canonical_hash: str
    dropped_keys: int
    received_at: int
    cause: str
    traceparent: bytes | None

    def decision(self, at: int, ctx: ProcessorContext) -> Decision:
        """Return the context in which the turn is written.  at: ms."""
        return Decision(ctx, self.cause, at, self.traceparent)


def held_row(turn: AcceptedTurn, due_at: int, principal: str | None) -> AvroValue:
    """Return the SaopTurnHeld row of a turn that is not written yet.

    principal: who sent it.
    """
    parent = turn.traceparent
    if parent is not None and len(parent) > _TRACEPARENT_BYTES:
        parent = None
    return {
        "turn": turn.value,
        "canonical_hash": turn.canonical_hash,
        "dropped_keys": turn.dropped_keys,
        "received_at": turn.received_at,
        "due_at": due_at,
        "cause": turn.cause,
        "traceparent": None if parent is None else parent.decode("latin-1"),
        "principal": principal,
    }


def held_turn(row: AvroValue) -> AcceptedTurn:
    parent = row["traceparent"]
    return AcceptedTurn(
        row["turn"],
        row["turn"],
        row["canonical_hash"],
        row["dropped_keys"],
        row["received_at"],
        row["cause"],
        None if parent is None else parent.encode("latin-1"),
    )


def _dropped_keys(count: bytes | None) -> int:
    """Return how many unknown members an edge dropped; a header that is no number counts none."""
    if count is None or not count.isdigit():
        return 0
    return min(int(count[:11]), _MAX_INT)
