"""The fact of every decision, and what goes with one that accepts.

An accepted envelope goes to its recipient, is remembered for its repetitions, and is drawn into
the lineage graph; its task takes the next sequence, and RTES hears of each of its steps.

Source: ASAP spec, 5.2 and 5.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas import canonical_json
from schemas.asap import EXT_ANSWERS
from streams.engine.processor import AvroValue
from streams.processing.graph import Edge
from streams.protocols.asap.processor import event_sourced, lineage, sweeping
from streams.protocols.asap.processor.case import Case
from streams.protocols.asap.processor.inbound import Command
from streams.protocols.asap.processor.scene import Scene
from streams.protocols.asap.processor.verdicts import Outcome
from topology.asap import ASAP_EVENTS, ASAP_SEEN
from topology.keys import composite

TRANSITION = "headrace.rtes.TaskTransition"
NONE = "none"
"""The state of a task before its first, as RTES is told it."""

_FACT: Mapping[str, Any] = {
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


def publish(command: Command, outcome: Outcome, scene: Scene) -> None:
    """Write what an envelope has come to."""
    case = outcome.case
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
    if case is not None:
        members |= _of_task(case)
    if outcome.accepted:
        members["envelope"] = command.outgoing
        if case is not None:
            members |= advance(case)
            scene.draw(*_edges(command, case))
        _remember(command, members.get("sequence"), scene)
        if outcome.deliver:
            scene.deliver(command.recipient, command.canonical, command.id)
    fact(scene, command.key, "envelope", outcome.rule, **members)


def fact(
    scene: Scene,
    key: str,
    kind: str,
    rule: str,
    *,
    figures: Mapping[str, Any] | None = None,
    **members: Any,
) -> None:
    """Write one AsapEvent; members that are not given are null."""
    event = {
        **_FACT,
        "event_id": scene.fact_id,
        "kind": kind,
        "rule": rule,
        "figures_json": canonical_json(dict(figures or {})).decode(),
        "at": scene.at,
        "cause": scene.cause,
        **members,
    }
    scene.send(ASAP_EVENTS, key, event, event["event_id"])


def advance(case: Case) -> dict[str, Any]:
    """Take the task's next sequence, keep its row, tell RTES; returns what the fact says of it."""
    row = case.row
    if case.event_sourced:
        event_sourced.note(case)
    row["sequence"] = case.sequence
    case.save()
    for step in case.transitions:
        _report(step, case)
    return {
        "sequence": row["sequence"],
        "transitions": case.transitions,
        "status": row["status"],
        "snapshot_version": case.snapshot_version,
    }


def seen_key(command: Command) -> str:
    return composite(command.task_key, command.sender, command.id)


def _of_task(case: Case) -> dict[str, Any]:
    row = case.row
    return {
        "task_id": row["task_id"],
        "conversation_id": row["conversation_id"],
        "status": row["status"],
    }


def _remember(command: Command, sequence: int | None, scene: Scene) -> None:
    row = {"sha256": command.sha256, "at": scene.at, "sequence": sequence}
    key = seen_key(command)
    scene.work.rows(ASAP_SEEN).put(key, row)
    sweeping.later(sweeping.SEEN, key, scene)


def _edges(command: Command, case: Case) -> list[Edge]:
    own = lineage.envelope(command.id)
    edges = [Edge(own, "part_of", lineage.task(case.task_id))]
    answered = command.extension(EXT_ANSWERS) or command.correlation_id
    if answered is not None:
        edges.append(Edge(own, "answers", lineage.envelope(answered)))
    return edges


def _report(step: AvroValue, case: Case) -> None:
    transition = {
        "task_id": case.task_id,
        "from_state": step["from_status"] or NONE,
        "to_state": step["to_status"],
        "git_hash": None,
        "timestamp": case.scene.time,
    }
    case.scene.report(case.row["conversation_id"], TRANSITION, transition)
