"""Verdicts on records, and the one fact that records each.

A verdict is accepted, duplicate, or rejected with a reason.

Source: Summit guide, 3 and 5.7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from schemas import Problem
from schemas.summit import rule_message, rules
from streams.engine.processor import ProcessorContext
from streams.processing import envelope
from streams.processing.decision import began_header
from streams.protocols.summit.processor.decision import DecisionContext
from streams.protocols.summit.processor.inbound import Inbound
from topology.summit import SUMMIT_EVENTS

if TYPE_CHECKING:
    from streams.protocols.summit.processor.runs import Run

Errors = Sequence[dict[str, Any]]

MAX_TEXT = 500
"""The most characters of a path and of its message; sent names may have any length."""
_EMPTY: Mapping[str, Any] = dict.fromkeys(
    (
        *("runId", "agentId", "caller", "method", "replyId", "replyKind", "contentHash"),
        *("fromState", "toState", "runVersion", "manifestVersion", "manifestHash", "agentsSeen"),
        *("inputs_json", "output_json", "judgeRunId", "judge", "originRunId", "treeUsd"),
        "replyMessage",
    )
)


class Verdict(NamedTuple):
    """The verdict on a record.

    rule: the deciding one.  message: `<rule>: ` and a phrase, for people.  path: a JSON Pointer.
    errors: of a schema, {path, keyword}.  figures: the numbers that the rule compared.
    run: the run that the record is about, if it was found.  more: further members of the fact.
    """

    verdict: str
    rule: str
    message: str
    path: str | None = None
    errors: Errors = ()
    figures: Mapping[str, float] = {}
    run: Run | None = None
    more: Mapping[str, Any] = {}


def accept(
    rule: str,
    run: Run,
    figures: Mapping[str, float],
    path: str | None = None,
    errors: Errors = (),
    **more: Any,
) -> Verdict:
    """Return the verdict that accepts a record.

    path, errors: the violation in an accepted final reply, whose rule ends the run.
    """
    return Verdict("accepted", rule, rule_message(rule, errors), path, errors, figures, run, more)


def duplicate(rule: str, run: Run) -> Verdict:
    """Return the verdict on a record that changes nothing, since it was processed before."""
    return Verdict("duplicate", rule, rule_message(rule), run=run)


def refuse(
    rule: str,
    path: str | None = None,
    *,
    run: Run | None = None,
    figures: Mapping[str, float] | None = None,
    **more: Any,
) -> Verdict:
    return Verdict("rejected", rule, rule_message(rule), path, (), figures or {}, run, more)


def malformed(problem: Problem, run: Run | None = None) -> Verdict:
    """Return the refusal of a record that violates a rule by itself."""
    path = problem.path[:MAX_TEXT]
    message = f"{problem.rule}: {path or '/'}: {problem.message[:MAX_TEXT]}"
    return Verdict("rejected", problem.rule, message, path, run=run)


def refuse_schema(rule: str, errors: Errors, **more: Any) -> Verdict:
    """Return the refusal of inputs that violate a schema."""
    message = rule_message(rule, errors)
    return Verdict("rejected", rule, message, errors[0]["path"], errors, more=more)


def partition_mismatch(key: str, ctx: ProcessorContext) -> Verdict | None:
    """Return the refusal of a record on another partition than its key's, else None.

    Its task does not have the rows of the key.
    """
    if envelope.partition_mismatch(key.encode(), ctx.partition, ctx) is None:
        return None
    return refuse(rules.PARTITION_MISMATCH.code)


def write_verdict(inbound: Inbound, verdict: Verdict, ctx: DecisionContext) -> None:
    """Write the fact with the verdict on a call or a reply."""
    members = {**inbound.members, **run_members(verdict)}
    if members["agentId"] is None and verdict.run is not None:
        members["agentId"] = verdict.run.agent_id
    write_fact(inbound.key, inbound.subject, verdict, ctx, **members)


def run_members(verdict: Verdict) -> dict[str, Any]:
    """Return the members of a fact about its run: the version, and any change of its state."""
    run = verdict.run
    if run is None:
        return {}
    state_changed = verdict.verdict in ("accepted", "fired") and run.before != run.state
    step = {"fromState": run.before, "toState": run.state} if state_changed else {}
    return {"runVersion": run.row["version"], **step}


def write_fact(
    key: str, subject: str, verdict: Verdict, ctx: DecisionContext, **members: Any
) -> None:
    """Write one SummitEvent; members that are not passed are null."""
    rejected = verdict.verdict == "rejected"
    event = {
        **_EMPTY,
        "eventId": ctx.event_id,
        "subject": subject,
        "verdict": verdict.verdict,
        "rule": verdict.rule,
        "fault": rules.fault_of(verdict.rule) if rejected else None,
        "at": ctx.at,
        "cause": ctx.cause,
        "path": verdict.path,
        "figures": {name: float(number) for name, number in verdict.figures.items()},
        "errors": list(verdict.errors),
        "message": verdict.message,
        **members,
        **verdict.more,
    }
    run = verdict.run
    ends = run is not None and members.get("toState") == run.state and not run.open
    headers = (began_header(run.row["createdAt"]),) if run is not None and ends else ()
    ctx.send(SUMMIT_EVENTS, key, event, ctx.event_id, headers)
