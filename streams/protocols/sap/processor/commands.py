"""A command record: a Task, a Result or a Signal, parsed once, checked, and acknowledged once.

The checks of a list run in order, and the first that fails decides.  This module has the checks of
all commands: the shape, the key, the partition, and the refusals for a known task.

Source: SAP guide, 2.4, 3.1 and 3.2.
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
    """A task, result or signal as read from the log, with its problems.

    value: Avro.  json: its JSON form without nulls.  problems: the first one decides.
    sha256: the canonical hash, None if there is no canonical JSON.
    strict: the evidence of a result has only the service's own words.
    """

    def __init__(self, message: Message, *, strict: bool = False) -> None:
        self.message = message
        self.kind = _KINDS[message.topic]
        self.value: AvroValue = message.value
        envelope = sap.judge(self.kind, message.value, strict=strict)
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
        """Return the id as sent, None if it is too long for an ack."""
        return _bounded(self.value["signalId" if self.kind == "signal" else "taskId"])

    @property
    def task_id(self) -> str | None:
        """Return the task's id in lower case, None unless it is a UUID."""
        return _lower_uuid(self.value["taskId"])

    @property
    def correlation_id(self) -> str | None:
        return _lower_uuid(self.value["correlationId"])

    @property
    def known_id(self) -> str:
        """Return the task's id of a valid envelope."""
        assert self.task_id is not None
        return self.task_id

    @property
    def key(self) -> str | None:
        """Return the record's key, None if there is none or it is not text."""
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
        """Return the canonical hash of a valid envelope."""
        assert self.sha256 is not None
        return self.sha256

    @property
    def reply_to(self) -> str | None:
        """Return the endpoint to which the issuer of a task wants replies."""
        return reply_endpoint(self.value)


def _bounded(text: str | None) -> str | None:
    """Return the text, None if it is longer than a whole envelope may be."""
    return None if text is None or len(text) > MAX_ENVELOPE_BYTES else text


def _lower_uuid(text: str) -> str | None:
    return text.lower() if is_uuid(text) else None


class Verdict(NamedTuple):
    """The verdict on a command.

    reason: for people, of a NACK.  path: the invalid member.  evidence: the values that the rule
    used.
    problems: all violations of the shape, the first one first.  duplicate_of: a position.
    """

    rule: str
    reason: str | None = None
    path: str = ""
    evidence: Mapping[str, Any] | None = None
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
    """Return the verdict of the first check that failed; later checks are not made."""
    return next((check.verdict for check in checks if check.verdict is not None), None)


def duplicate(position: str) -> Verdict:
    return Verdict(rules.DUPLICATE.code, duplicate_of=position)


def malformed(problems: Sequence[Problem]) -> Verdict:
    first = problems[0]
    path = first.path or "the envelope"
    return Verdict(first.rule, f"{path}: {first.message}", first.path, problems=problems)


def check_record(command: Command, ctx: DecisionContext) -> Verdict | None:
    """Check shape, key and partition, which need no state of the task."""
    if command.problems:
        return malformed(command.problems)
    expected, key = command.known_id, command.key
    if key != expected:
        rendered = "null" if command.message.record.key is None else _render_key(key)
        evidence: Json = {"key": key, "expected": expected}
        reason = f"The record key is {rendered}; taskId makes it '{expected}'."
        return Verdict(rules.KEY_MISMATCH.code, reason, _PATH, evidence)
    actual = command.message.record.partition
    partition = partition_mismatch(expected.encode(), actual, ctx.work)
    if partition is not None:
        evidence = {"partition": actual, "expected": partition}
        reason = f"The record lies on partition {actual}; its key makes it {partition}."
        return Verdict("partition_mismatch", reason, _PATH, evidence)
    return None


def _render_key(key: str | None) -> str:
    return "no UTF-8 text" if key is None else repr(key)


def check_known_task(envelope: Json, row: AvroValue | None) -> Verdict | None:
    if row is not None:
        return None
    reason = f"taskId: no task {envelope['taskId']} was accepted."
    return Verdict(rules.UNKNOWN_TASK.code, reason, _PATH)


def check_correlation(envelope: Json, row: AvroValue) -> Verdict | None:
    correlation_id, expected = envelope["correlationId"].lower(), row["correlationId"]
    if correlation_id == expected:
        return None
    evidence = {"correlationId": correlation_id, "expected": expected}
    reason = f"correlationId: the task has {expected}."
    return Verdict(rules.CORRELATION_MISMATCH.code, reason, "/correlationId", evidence)


def check_repeated(known: AvroValue | None) -> Verdict | None:
    """Return the verdict for an envelope that was accepted before.  known: its SapKnown."""
    return None if known is None else duplicate(known["position"])


def check_open(row: AvroValue, now: int) -> Verdict | None:
    """Return the refusal for a task that has ended, or whose deadline has passed."""
    evidence = {"state": row["state"]}
    if row["state"] in MACHINE.terminal:
        reason = f"taskId: the task has ended; it is {row['state']}."
    elif is_overdue(row, now):
        evidence["deadline"] = row["deadline"]
        reason = f"taskId: the task has ended; its deadline was {row['deadline']}."
    else:
        return None
    return Verdict(rules.TASK_CLOSED.code, reason, _PATH, evidence)


def send_ack(
    command: Command,
    verdict: Verdict,
    ctx: DecisionContext,
    *,
    warnings: Sequence[str] = (),
    accepted: AvroValue | None = None,
) -> None:
    """Send the SapAck with the verdict on the command."""
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
        "figures_json": None if verdict.evidence is None else _json(verdict.evidence),
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
