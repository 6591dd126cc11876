"""A command record: a Task, a Result or a Signal, read once, checked, and acknowledged once.

Checks of a list are made in order, and the first that does not pass decides.  Here are those that
all commands have: the shape, the key, the partition, and what refuses one about a known task.

Source: SAP spec, 2.4, 3.1, 3.2 and Clarification 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from schemas import Problem, canonical_json, sap
from schemas.formats import is_uuid
from schemas.sap import rules
from schemas.sap.constants import MAX_ENVELOPE_BYTES
from streams.engine.processor import AvroValue, Message
from streams.engine.records import Headers, header, position
from streams.processing.envelope import partition_mismatch
from streams.protocols.sap.decision import DecisionContext
from streams.protocols.sap.processor.aggregate import is_overdue
from streams.protocols.sap.processor.authorization import authorization_of
from streams.protocols.sap.task_row import reply_endpoint
from topology.declarations import Topic
from topology.machines.sap_task import MACHINE
from topology.sap import REPLY_TO, SAP_ACKS, SAP_RESULTS, SAP_SIGNALS, SAP_TASKS

Json = dict[str, Any]

MAX_ERRORS = 1000
"""Bounds the ack of an envelope in which every item is wrong."""
_KINDS: dict[Topic, str] = {SAP_TASKS: "task", SAP_RESULTS: "result", SAP_SIGNALS: "signal"}
_NO_KEY = "-"
_PATH = "/taskId"


class Command:
    """value: Avro.  json: its JSON form, nulls left out.  problems: the first one decides.

    sha256: the canonical hash, None for what has no canonical JSON.
    """

    def __init__(self, message: Message) -> None:
        self.message = message
        self.kind = _KINDS[message.topic]
        self.value: AvroValue = message.value
        envelope = sap.judge(self.kind, message.value)
        self.json: Json = envelope.json
        self.problems: list[Problem] = envelope.problems
        self.sha256: str | None = envelope.sha256
        self.at = message.record.timestamp
        self.cause = position(message.record)
        self.traceparent = header(message.record, "traceparent")

    @property
    def subject(self) -> str:
        return self.kind.upper()

    @property
    def message_id(self) -> str | None:
        """As it was sent, unless no ack could hold it."""
        return _bounded(self.value["signalId" if self.kind == "signal" else "taskId"])

    @property
    def task_id(self) -> str | None:
        """In lower case; None unless it is a UUID."""
        return _folded(self.value["taskId"])

    @property
    def correlation_id(self) -> str | None:
        return _folded(self.value["correlationId"])

    @property
    def known_id(self) -> str:
        """The task's id, of an envelope whose shape is right."""
        assert self.task_id is not None
        return self.task_id

    @property
    def key(self) -> str | None:
        """None for a record without a key, and for one that is not text."""
        try:
            return None if self.message.record.key is None else self.message.record.key.decode()
        except UnicodeDecodeError:
            return None

    @property
    def ack_key(self) -> str:
        key = _bounded(self.key)
        return self.task_id or (_NO_KEY if key is None else key)

    @property
    def known_sha256(self) -> str:
        """The canonical hash of an envelope whose shape is right."""
        assert self.sha256 is not None
        return self.sha256

    @property
    def reply_to(self) -> str | None:
        """Return where the issuer of a task would like to be answered."""
        return reply_endpoint(self.value)


def _bounded(text: str | None) -> str | None:
    """A name, if it is no longer than a whole envelope may be."""
    return None if text is None or len(text) > MAX_ENVELOPE_BYTES else text


def _folded(text: str) -> str | None:
    return text.lower() if is_uuid(text) else None


class Verdict(NamedTuple):
    """What decides on a command.

    reason: for people, of a NACK.  path: the member at fault.  figures: what the rule rests on.
    problems: every violated rule of the shape, the first one first.  duplicate_of: a position.
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
    def outcome(self) -> str:
        code = self.rule
        accepting = (rules.ACCEPTED.code, rules.DUPLICATE.code)
        return code if code in accepting else "rejected"


class Check(NamedTuple):
    """One check of a list.  rule: its code.  verdict: None if it passed."""

    rule: str
    verdict: Verdict | None


ACCEPTED = Verdict(rules.ACCEPTED.code)


def first_failure(checks: Iterable[Check]) -> Verdict | None:
    """What the first check that did not pass says; later ones are not made."""
    return next((check.verdict for check in checks if check.verdict is not None), None)


def duplicate(position: str) -> Verdict:
    return Verdict(rules.DUPLICATE.code, duplicate_of=position)


def malformed(problems: Sequence[Problem]) -> Verdict:
    first = problems[0]
    path = first.path or "the envelope"
    return Verdict(first.rule, f"{path}: {first.message}", first.path, problems=problems)


def check_record(command: Command, ctx: DecisionContext) -> Verdict | None:
    """Check shape, key and partition: what needs no look at the task."""
    if command.problems:
        return malformed(command.problems)
    expected, key = command.known_id, command.key
    if key != expected:
        rendered = "null" if command.message.record.key is None else _rendered(key)
        figures: Json = {"key": key, "expected": expected}
        reason = f"The record key is {rendered}; taskId makes it '{expected}'."
        return Verdict(rules.KEY_MISMATCH.code, reason, _PATH, figures)
    actual = command.message.record.partition
    partition = partition_mismatch(expected.encode(), actual, ctx.work)
    if partition is not None:
        figures = {"partition": actual, "expected": partition}
        reason = f"The record lies on partition {actual}; its key makes it {partition}."
        return Verdict("partition_mismatch", reason, _PATH, figures)
    return None


def _rendered(key: str | None) -> str:
    return "no UTF-8 text" if key is None else repr(key)


def unknown_task(envelope: Json, row: AvroValue | None) -> Verdict | None:
    if row is not None:
        return None
    reason = f"taskId: no task {envelope['taskId']} was accepted."
    return Verdict(rules.UNKNOWN_TASK.code, reason, _PATH)


def uncorrelated(envelope: Json, row: AvroValue) -> Verdict | None:
    correlation_id, expected = envelope["correlationId"].lower(), row["correlationId"]
    if correlation_id == expected:
        return None
    figures = {"correlationId": correlation_id, "expected": expected}
    reason = f"correlationId: the task has {expected}."
    return Verdict(rules.CORRELATION_MISMATCH.code, reason, "/correlationId", figures)


def repeated(known: AvroValue | None) -> Verdict | None:
    """known: SapKnown of the same envelope."""
    return None if known is None else duplicate(known["position"])


def closed(row: AvroValue, now: int) -> Verdict | None:
    """The task has ended, or would have at its deadline."""
    figures = {"state": row["state"]}
    if row["state"] in MACHINE.terminal:
        reason = f"taskId: the task has ended; it is {row['state']}."
    elif is_overdue(row, now):
        figures["deadline"] = row["deadline"]
        reason = f"taskId: the task has ended; its deadline was {row['deadline']}."
    else:
        return None
    return Verdict(rules.TASK_CLOSED.code, reason, _PATH, figures)


def send_ack(
    command: Command,
    verdict: Verdict,
    ctx: DecisionContext,
    *,
    warnings: Sequence[str] = (),
    accepted: AvroValue | None = None,
) -> None:
    """Write the SapAck that the record is owed."""
    ack_id = ctx.next_id()
    nack = verdict.outcome == "rejected"
    authorization = authorization_of(ctx.work.settings)
    ack = {
        "ackId": ack_id,
        "subject": command.subject,
        "messageId": command.message_id,
        "taskId": command.task_id,
        "correlationId": command.correlation_id,
        "status": "NACK" if nack else "ACK",
        "verdict": verdict.outcome,
        "code": sap.nack_code(verdict.rule, command.subject) if nack else None,
        "rule": verdict.rule,
        "reason": verdict.reason if nack else None,
        "errors": _errors(verdict) if nack else [],
        "warnings": list(warnings),
        "retryAfterMs": verdict.retry_after_ms,
        "fault": verdict.fault if nack else None,
        "envelopeSha256": command.sha256,
        "duplicateOf": verdict.duplicate_of,
        "position": command.cause,
        "accepted": accepted,
        "constitution": ctx.constitution.label,
        "authorization": None if authorization is None else authorization.label,
        "figures_json": None if verdict.figures is None else _json(verdict.figures),
        "at": ctx.at,
    }
    ctx.send(SAP_ACKS, command.ack_key, ack, ack_id, reply_headers(command.reply_to))


def reply_headers(endpoint: str | None) -> Headers:
    return () if endpoint is None else ((REPLY_TO.name, endpoint.encode()),)


def _errors(verdict: Verdict) -> list[AvroValue]:
    problems = verdict.problems or (Problem(verdict.rule, verdict.path, verdict.reason or ""),)
    return [problem._asdict() for problem in problems[:MAX_ERRORS]]


def _json(value: Mapping[str, Any]) -> str:
    return canonical_json(value).decode()
