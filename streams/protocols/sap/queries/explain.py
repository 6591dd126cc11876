"""Why a task was judged so: every check in its order, the figures, and the steps of evaluations.

What decided is read from the log; which checks there are, and how an answer is weighed, the
functions of the processors say themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from schemas import Problem, decode, sap
from schemas.sap import rules
from streams.errors import NotFound
from streams.protocols.sap.constitution import Constitution
from streams.protocols.sap.processor import alignment, results, signals, tasks
from streams.protocols.sap.processor.aggregate import TaskAggregate
from streams.protocols.sap.queries.common import Json, named
from streams.protocols.sap.queries.tasks import acks_of, outcomes_of, verdicts_of
from streams.views.reads import Reads
from topology.sap import SAP_TASK_STATES, SAP_TASKS

PASSED, FAILED, NOT_REACHED = "passed", "failed", "not reached"
SHAPE = "shape"
_KINDS = {"TASK": "task", "RESULT": "result", "SIGNAL": "signal"}
_SHARED = {
    rules.FORBIDDEN.code: (rules.UNAUTHORIZED.code,),
    rules.DUPLICATE.code: (rules.TASK_ID_CONFLICT.code, rules.SIGNAL_ID_CONFLICT.code),
}
"""Rules that are told by a check named after another."""
_OF_VERDICT = (
    *("at", "verdict", "reason", "leader", "leaderTaskId", "waitUntil", "version", "ageSec"),
    *("candidates", "checks", "violations"),
)

Fetch = Callable[[str], Any]
"""The Avro value of the record at a position, None when it is not kept any more."""


def explain(view: Reads, taskId: str, fetch: Fetch, constitution: Constitution) -> Json:
    """Raises NotFound when nothing was ever said of it."""
    task_id = named(taskId)
    kept = view.get("sap task", task_id)
    row = None if kept is None else decode(kept, SAP_TASK_STATES.record or "").value
    acks = list(acks_of(view, task_id))
    if row is None and not acks:
        raise NotFound(f"there is no task {taskId}")
    case = None if row is None else _case(view, row, constitution)
    return {
        "taskId": task_id,
        "state": None if row is None else row["state"],
        "constitution": constitution.label,
        "commands": [_command(ack, fetch(ack["position"]), row, case) for ack in acks],
        "lookups": [_only(verdict) for verdict in verdicts_of(view, task_id)],
        "outcomes": [_outcome(outcome) for outcome in outcomes_of(view, task_id)],
    }


def misshapen(subject: str, problems: Sequence[Problem], at: str) -> Json:
    """A command that no record can carry, so that nobody but its shape was looked at."""
    rule, path, message = problems[0]
    reason = f"{path}: {message}" if path else message
    errors = [problem._asdict() for problem in problems]
    decider = {"check": SHAPE, "outcome": FAILED, "rule": rule, "reason": reason}
    told = {"position": None, "subject": subject, "at": at, "verdict": "rejected"}
    checks = [{**decider, "figures": None, "errors": errors}]
    return {**told, "rule": rule, "reason": reason, "checks": checks, "warnings": []}


def _case(view: Reads, row: Json, constitution: Constitution) -> TaskAggregate | None:
    """The task for the processor's functions, which look at no more than this."""
    _, partition, offset = row["position"].rsplit("/", 2)
    sent = view.get("sap sent", int(partition), int(offset))
    if sent is None:
        return None
    ctx: Any = SimpleNamespace(constitution=constitution)
    return TaskAggregate(row, ctx, decode(sent, SAP_TASKS.record or "").value)


def _command(ack: Json, value: Any, row: Json | None, case: TaskAggregate | None) -> Json:
    """value: the record, as Avro."""
    kind = _KINDS[ack["subject"]]
    envelope = None if value is None else sap.judge(kind, value).json
    told = {name: ack[name] for name in ("position", "subject", "at", "verdict", "rule", "reason")}
    told["checks"] = list(_checks(ack, envelope, row))
    told["warnings"] = ack["warnings"]
    if ack["rule"] == rules.ACCEPTED.code and case is not None and envelope is not None:
        told["accepted"] = ack["accepted"]
        told["evaluation"] = _evaluation(kind, envelope, case)
    return told


def _checks(ack: Json, envelope: Json | None, row: Json | None) -> Iterator[Json]:
    """All that would be made, in order, as far as the recorded rule tells how they went."""
    rule = ack["rule"]
    names = [SHAPE, *_names(ack["subject"], envelope, row)]
    decider = next((n for n in names if n == rule or n in _SHARED.get(rule, ())), None)
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
    """Of the checks behind the shape; none for an envelope that cannot be read."""
    if envelope is None:
        return []
    try:
        match subject:
            case "TASK":
                facts = tasks.Facts(None, None, None, None, 0)
                return [check.rule for check in tasks.checks(envelope, "", facts)]
            case "RESULT":
                known = results.Facts(row, None, True, 0)
                return [check.rule for check in results.checks(envelope, "", known)]
            case _:
                said = signals.Facts(row, None, None, 0)
                return [check.rule for check in signals.checks(envelope, "", said)]
    except (KeyError, TypeError, AttributeError):  # its shape is wrong
        return []


def _evaluation(kind: str, envelope: Json, case: TaskAggregate) -> Json | None:
    """Weighed anew; with another constitution than the recorded one it may come out otherwise."""
    match kind:
        case "task":
            finding = alignment.of_task(case)
        case "result":
            finding = alignment.of_result(case, envelope)
        case _:
            return None
    return {
        "constitution": case.row["constitution"],
        "alignment": finding.service,
        "combined": finding.combined,
        "steps": list(finding.steps),
        "policyChecks": list(finding.checks),
        "violations": list(finding.violations),
    }


def _only(verdict: Json) -> Json:
    return {name: verdict[name] for name in _OF_VERDICT}


def _outcome(outcome: Json) -> Json:
    said = outcome["meta"]["headrace"]
    return {
        **{name: said[name] for name in ("seq", "rule", "cause")},
        "status": outcome["status"],
        "alignment": outcome["constitutionalEvidence"]["alignment"],
        "error": outcome.get("error"),
        "cache": outcome["constitutionalEvidence"].get("cache"),
    }
