"""The verdicts on records, and the facts that record them.

A handler returns an `Outcome`: a record is accepted, a duplicate, or refused with a reason.
`publish` writes its fact.  An accepted envelope goes to its recipient, is remembered to detect
duplicates, and gets edges in the lineage graph; its task takes the next sequence, and each of its
transitions is emitted to RTES.

Source: ASAP guide, 3.1, 5.2 and 5.7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from schemas import Problem, canonical_json
from schemas.asap import EXT_ANSWERS, rules
from streams.engine.processor import AvroValue, ProcessorContext
from streams.processing import envelope
from streams.processing.decision import began_header
from streams.processing.graph import LineageEdge
from streams.protocols.asap.processor import snapshots
from streams.protocols.asap.processor.command import Command
from streams.protocols.asap.processor.decision import (
    SEEN,
    DecisionContext,
    envelope_node,
    expire_later,
    task_node,
)
from streams.protocols.asap.processor.task import TaskAggregate
from topology.asap import ASAP_EVENTS, ASAP_SEEN
from topology.declarations import Topic
from topology.keys import composite

TRANSITION = "headrace.rtes.TaskTransition"
NO_STATE = "none"
"""The state before a task's first one, in events to RTES."""

_EMPTY_FACT: Mapping[str, Any] = {
    "verdict": None,
    "fault": None,
    "asap_error": None,
    "detail": None,
    "task_id": None,
    "call_key": None,
    "sequence": None,
    "conversation_id": None,
    "trace_id": None,
    "envelope_id": None,
    "envelope_hash": None,
    "payload_type": None,
    "sender": None,
    "recipient": None,
    "transitions": [],
    "status": None,
    "snapshot_version": None,
    "envelope": None,
}


class Outcome(NamedTuple):
    """The outcome of a record.

    rule: the one that decides.  detail: one sentence for people.  figures: the rule's evidence.
    task: the record's task, if there is one.  call_key: of an MCP record.
    task_id: if there is no task object.  deliver: an accepted envelope goes to its recipient.
    """

    verdict: str
    rule: str
    detail: str | None = None
    figures: Mapping[str, Any] = {}
    fault: str | None = None
    asap_error: str | None = None
    task: TaskAggregate | None = None
    call_key: str | None = None
    task_id: str | None = None
    deliver: bool = False

    @property
    def accepted(self) -> bool:
        return self.verdict == "accepted"


Handler = Callable[[Command, DecisionContext], Outcome | None]
"""Decides one payload type; an accepted one gets its specific rows, timers, RTES events, edges.

`publish` has the common effects.  None: nothing is decided yet, the record is held.
"""


def accept(
    rule: str,
    *,
    task: TaskAggregate | None = None,
    call_key: str | None = None,
    deliver: bool = True,
    detail: str | None = None,
    **figures: Any,
) -> Outcome:
    return Outcome("accepted", rule, detail, figures, task=task, call_key=call_key, deliver=deliver)


def duplicate(
    rule: str,
    *,
    task: TaskAggregate | None = None,
    task_id: str | None = None,
    call_key: str | None = None,
    **figures: Any,
) -> Outcome:
    """Return the outcome of a record that changes nothing: its request was done before."""
    return Outcome("duplicate", rule, None, figures, task=task, task_id=task_id, call_key=call_key)


def refuse(
    rule: str,
    detail: str,
    *,
    fault: str | None = None,
    task: TaskAggregate | None = None,
    call_key: str | None = None,
    task_id: str | None = None,
    **figures: Any,
) -> Outcome:
    """Return a rejection.  fault: who is at fault, by default what the rule says."""
    return Outcome(
        "rejected",
        rule,
        detail,
        figures,
        fault or rules.fault_of(rule),
        rules.ASAP_ERRORS[rule],
        task,
        call_key,
        task_id,
    )


def malformed(problems: Sequence[Problem]) -> Outcome:
    """Return a rejection for the violated stateless rules; the first one decides."""
    first = problems[0]
    codes = list(dict.fromkeys(problem.rule for problem in problems))
    return refuse(first.rule, f"{first.path or '/'}: {first.message}", violations=codes)


def too_large(topic: Topic, size: int) -> Outcome:
    """Return a rejection for an output that exceeds the record size of its topic."""
    detail = f"The envelope causes {size} bytes on {topic.name}, more than one record may."
    return refuse("envelope_too_large", detail, fault="service")._replace(figures={"size": size})


def partition_mismatch(key: str, ctx: ProcessorContext) -> Outcome | None:
    """Return a rejection for a record on a partition where its key's rows are not."""
    expected = envelope.partition_mismatch(key.encode(), ctx.partition, ctx)
    if expected is None:
        return None
    detail = f"The record lies on partition {ctx.partition}; its key makes it {expected}."
    figures = {"partition": ctx.partition, "expected": expected}
    return refuse("partition_mismatch", detail)._replace(figures=figures)


def publish(command: Command, outcome: Outcome, ctx: DecisionContext) -> None:
    """Write the fact of an envelope's outcome, and the effects of an accepted one."""
    task = outcome.task
    began: int | None = None
    members: dict[str, Any] = {
        "verdict": outcome.verdict,
        "fault": outcome.fault,
        "asap_error": outcome.asap_error,
        "detail": outcome.detail,
        "figures": outcome.figures,
        "call_key": outcome.call_key,
        "task_id": outcome.task_id,
        "conversation_id": command.body.get("conversation_id"),
        "trace_id": command.trace_id,
        "envelope_id": command.id,
        "envelope_hash": command.sha256,
        "payload_type": command.kind,
        "sender": command.sender,
        "recipient": command.recipient,
    }
    if task is not None:
        members |= _task_members(task)
    if outcome.accepted:
        members["envelope"] = command.outgoing
        if task is not None:
            members |= advance(task)
            began = task.began
            ctx.emit_edge(*_envelope_edges(command, task))
        _save_seen(command, members.get("sequence"), ctx)
        if outcome.deliver:
            ctx.deliver(command.recipient, command.canonical, command.id)
    fact(ctx, command.key, "envelope", outcome.rule, began=began, **members)


def fact(
    ctx: DecisionContext,
    key: str,
    kind: str,
    rule: str,
    *,
    figures: Mapping[str, Any] | None = None,
    began: int | None = None,
    **members: Any,
) -> None:
    """Write one AsapEvent; members that are not passed are null.

    began: ms; of a fact that ends a task, when that began.
    """
    event = {
        **_EMPTY_FACT,
        "event_id": ctx.fact_id,
        "kind": kind,
        "rule": rule,
        "figures_json": canonical_json(dict(figures or {})).decode(),
        "at": ctx.at,
        "cause": ctx.cause,
        **members,
    }
    headers = () if began is None else (began_header(began),)
    ctx.send(ASAP_EVENTS, key, event, event["event_id"], headers)


def advance(task: TaskAggregate) -> dict[str, Any]:
    """Take the task's next sequence, write its row, emit to RTES; return the fact's members."""
    row = task.row
    if task.event_sourced:
        snapshots.record_event(task)
    row["sequence"] = task.sequence
    task.save()
    for step in task.transitions:
        _emit_transition(step, task)
    return {
        "sequence": row["sequence"],
        "transitions": task.transitions,
        "status": row["status"],
        "snapshot_version": task.snapshot_version,
    }


def seen_key(command: Command) -> str:
    return composite(command.task_key, command.sender, command.id)


def _task_members(task: TaskAggregate) -> dict[str, Any]:
    row = task.row
    return {
        "task_id": row["task_id"],
        "conversation_id": row["conversation_id"],
        "status": row["status"],
    }


def _save_seen(command: Command, sequence: int | None, ctx: DecisionContext) -> None:
    row = {"sha256": command.sha256, "at": ctx.at, "sequence": sequence}
    key = seen_key(command)
    ctx.work.rows(ASAP_SEEN).put(key, row)
    expire_later(SEEN, key, ctx)


def _envelope_edges(command: Command, task: TaskAggregate) -> list[LineageEdge]:
    node = envelope_node(command.id)
    edges = [LineageEdge(node, "part_of", task_node(task.task_id))]
    answered_id = command.extension(EXT_ANSWERS) or command.correlation_id
    if answered_id is not None:
        edges.append(LineageEdge(node, "answers", envelope_node(answered_id)))
    return edges


def _emit_transition(step: AvroValue, task: TaskAggregate) -> None:
    transition = {
        "task_id": task.task_id,
        "from_state": step["from_status"] or NO_STATE,
        "to_state": step["to_status"],
        "git_hash": None,
        "timestamp": task.ctx.time,
    }
    task.ctx.emit_event(task.row["conversation_id"], TRANSITION, transition)
