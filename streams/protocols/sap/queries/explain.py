"""The explanation of a task's decisions: every check in order, its evidence, and evaluation steps.

The evidence is read from the log.  The checks and the evaluation are the processor's own
functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from schemas import Problem, Undecodable, decode, sap
from schemas.sap import rules
from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition, position
from streams.errors import NotFound
from streams.log.fetching import read_offsets
from streams.protocols.sap.constitution import constitution_of
from streams.protocols.sap.processor import alignment, results, signals, tasks
from streams.protocols.sap.processor.aggregate import TaskAggregate
from streams.protocols.sap.queries.tasks import acks_of, outcomes_of, task_key, verdicts_of
from streams.views.parse import parse_position
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json
from topology.sap import SAP_RESULTS, SAP_SIGNALS, SAP_TASK_STATES, SAP_TASKS

PASSED, FAILED, NOT_REACHED = "passed", "failed", "not reached"
SHAPE = "shape"
_KINDS = {"TASK": "task", "RESULT": "result", "SIGNAL": "signal"}
_DECIDED_BY = {
    rules.FORBIDDEN.code: (rules.UNAUTHORIZED.code,),
    rules.DUPLICATE.code: (rules.TASK_ID_CONFLICT.code, rules.SIGNAL_ID_CONFLICT.code),
}
"""Rules that are decided by the check of another rule."""
_FROM_ACK = ("position", "subject", "at", "verdict", "rule", "reason")
_FROM_VERDICT = (
    *("at", "verdict", "reason", "leader", "leaderTaskId", "waitUntil", "version", "ageSec"),
    *("candidates", "checks", "violations"),
)

ReadValues = Callable[[Sequence[str]], Mapping[str, Any]]
"""Returns the Avro values of commands by position, without those that retention has removed."""
_TOPICS = (SAP_TASKS, SAP_RESULTS, SAP_SIGNALS)


def values_from(log: Log, patience_s: float) -> ReadValues:
    """Return what reads the values of commands from a log.

    It raises BrokerUnavailable when the log returns nothing for `patience_s`.
    """

    def read(positions: Sequence[str]) -> Mapping[str, Any]:
        offsets: dict[TopicPartition, list[int]] = {}
        for topic, partition, offset in map(parse_position, positions):
            offsets.setdefault(TopicPartition(topic, partition), []).append(offset)
        return {
            position(record): value
            for tp, numbers in offsets.items()
            for record in read_offsets(log, tp, numbers, patience_s)
            if (value := _decoded(record)) is not None
        }

    return read


def _decoded(record: Record) -> Any:
    declared = next((topic for topic in _TOPICS if record.topic.endswith(topic.name)), None)
    if declared is None or declared.record is None or record.value is None:
        return None
    try:
        return decode(record.value, declared.record).value
    except Undecodable:
        return None


def explain(
    view: ReadOnlyStore, taskId: str, values: ReadValues, settings: Mapping[str, Any]
) -> Json:
    """Return how each command about a task was decided.

    settings: those that processors see.  Raises NotFound when no record named the task.
    """
    task_id, constitution = task_key(taskId), constitution_of(settings)
    stored = view.get("sap task", task_id)
    row = None if stored is None else decode(stored, SAP_TASK_STATES.record or "").value
    acks = list(acks_of(view, task_id))
    if row is None and not acks:
        raise NotFound(f"there is no task {taskId}")
    task = None if row is None else _aggregate(view, row, settings)
    sent = values([ack["position"] for ack in acks])
    return {
        "taskId": task_id,
        "state": None if row is None else row["state"],
        "constitution": constitution.label,
        "commands": [_command(ack, sent.get(ack["position"]), row, task) for ack in acks],
        "lookups": [_verdict(verdict) for verdict in verdicts_of(view, task_id)],
        "outcomes": [_outcome(outcome) for outcome in outcomes_of(view, task_id)],
    }


def malformed_command(subject: str, problems: Sequence[Problem], at: str) -> Json:
    """Explain a command that no record can contain, so that only its shape was checked."""
    rule, path, message = problems[0]
    reason = f"{path}: {message}" if path else message
    errors = [problem._asdict() for problem in problems]
    decider = {"check": SHAPE, "outcome": FAILED, "rule": rule, "reason": reason}
    head = {"position": None, "subject": subject, "at": at, "verdict": "rejected"}
    checks = [{**decider, "figures": None, "errors": errors}]
    return {**head, "rule": rule, "reason": reason, "checks": checks, "warnings": []}


def _aggregate(view: ReadOnlyStore, row: Json, settings: Mapping[str, Any]) -> TaskAggregate | None:
    """Return the task for the processor's functions, which need no more than this."""
    _, partition, offset = row["position"].rsplit("/", 2)
    envelope = view.get("sap sent", int(partition), int(offset))
    if envelope is None:
        return None
    ctx: Any = SimpleNamespace(
        constitution=constitution_of(settings), setting=lambda name: settings[f"SAP_{name}"]
    )
    return TaskAggregate(row, ctx, decode(envelope, SAP_TASKS.record or "").value)


def _command(ack: Json, value: Any, row: Json | None, task: TaskAggregate | None) -> Json:
    """Explain one command.  value: its record, as Avro."""
    kind = _KINDS[ack["subject"]]
    envelope = None if value is None else sap.judge(kind, value).json
    command = {
        name: ack[name] for name in ("position", "subject", "at", "verdict", "rule", "reason")
    }
    command["checks"] = list(command_checks(ack, envelope, row))
    command["warnings"] = ack["warnings"]
    if ack["rule"] == rules.ACCEPTED.code and task is not None and envelope is not None:
        command["accepted"] = ack["accepted"]
        command["evaluation"] = _evaluation(kind, envelope, task)
    return command


def command_checks(ack: Json, envelope: Json | None, row: Json | None) -> Iterator[Json]:
    """Return all checks in order, each with its result as far as the recorded rule shows it."""
    rule = ack["rule"]
    names = [SHAPE, *_names(ack["subject"], envelope, row)]
    decider = next((n for n in names if n == rule or n in _DECIDED_BY.get(rule, ())), None)
    if rule != rules.ACCEPTED.code and decider is None:
        decider = SHAPE
    outcome = PASSED
    for name in names:
        if name == decider:
            what = {"rule": rule, "reason": ack["reason"], "figures": ack["figures"]}
            outcome = PASSED if rule == rules.DUPLICATE.code else FAILED
            yield {"check": name, "outcome": outcome, **what, "errors": ack["errors"]}
            outcome = NOT_REACHED
        else:
            yield {"check": name, "outcome": outcome}


def _names(subject: str, envelope: Json | None, row: Json | None) -> list[str]:
    """Return the names of the checks behind the shape; none for an unreadable envelope."""
    if envelope is None:
        return []
    try:
        match subject:
            case "TASK":
                checks = tasks.checks(envelope, "", tasks.Facts(None, None, None, None, 0))
            case "RESULT":
                checks = results.checks(envelope, "", results.Facts(row, None, True, 0))
            case _:
                checks = signals.checks(envelope, "", signals.Facts(row, None, None, 0))
        return [check.rule for check in checks]
    except (KeyError, TypeError, AttributeError):  # its shape is invalid
        return []


def _evaluation(kind: str, envelope: Json, task: TaskAggregate) -> Json | None:
    """Evaluate again; under another constitution than the recorded one the result may differ."""
    match kind:
        case "task":
            evaluation = alignment.of_task(task)
        case "result":
            evaluation = alignment.of_result(task, envelope)
        case _:
            return None
    return {
        "constitution": task.row["constitution"],
        "alignment": evaluation.service,
        "combined": evaluation.combined,
        "steps": list(evaluation.steps),
        "policyChecks": list(evaluation.checks),
        "violations": list(evaluation.violations),
    }


def _verdict(verdict: Json) -> Json:
    return {name: verdict[name] for name in _FROM_VERDICT}


def _outcome(outcome: Json) -> Json:
    meta = outcome["meta"]["headrace"]
    return {
        **{name: meta[name] for name in ("seq", "rule", "cause")},
        "status": outcome["status"],
        "alignment": outcome["constitutionalEvidence"]["alignment"],
        "error": outcome.get("error"),
        "cache": outcome["constitutionalEvidence"].get("cache"),
    }
