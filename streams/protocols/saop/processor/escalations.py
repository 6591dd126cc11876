"""What is reported of agents and tasks that are stuck, and what signals do.

Source: SAOP/RTES spec, 2.3 (SaopEscalation) and 4.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from schemas import uuid5_url
from schemas.rtes.models import AgentId
from schemas.saop import rules
from streams.engine.processor import AvroValue, Message, Work
from streams.engine.records import header, position
from streams.processing import graph
from streams.protocols.saop.processor import lineage
from streams.protocols.saop.processor.detectors import (
    FAILURES,
    OUTCOMES,
    Finding,
    Thresholds,
    observe,
)
from streams.protocols.saop.processor.inbound import Turn
from streams.protocols.saop.processor.rows import watch_of, watch_row
from topology.keys import composite
from topology.saop import SAOP_DETECTORS, SAOP_ESCALATIONS

AGENTS: Sequence[str] = get_args(AgentId)
_FIRST = 2
"""A turn's own facts are its verdict, its log record, then its escalations."""

_EMPTY: Mapping[str, Any] = {
    "session_id": None,
    "agent_id": None,
    "turn_index": None,
    "turn_indexes": [],
    "confidences": [],
    "slope": None,
    "decline": None,
    "observation_sha256": None,
    "run_length": None,
    "failures": None,
    "first_sequence": None,
    "last_sequence": None,
}


def watch_turn(task_id: str, turn: Turn, at: int, limits: Thresholds, work: Work) -> None:
    """Show a logged turn to the detectors of its agent."""
    value = turn.value
    agent, index = value["agent_id"], value["turn_index"]
    key, rows = composite(task_id, agent), work.rows(SAOP_DETECTORS)
    confidence, observation = value["metadata"]["confidence"], value["content"]["observation"]
    watch, findings = observe(watch_of(rows.get(key)), index, confidence, observation, limits)
    rows.put(key, watch_row(watch))
    for n, finding in enumerate(findings, _FIRST):
        own = {"task_id": task_id, "agent_id": agent, "turn_index": index}
        escalation_id = uuid5_url(f"headrace:{turn.cause}/{n}")
        found = own | _found(finding)
        target = lineage.turn_node(task_id, index)
        _send(escalation_id, found, target, at, turn.cause, turn.traceparent, work)


def _found(finding: Finding) -> AvroValue:
    return finding._asdict() | {
        "rules": [rule.code for rule in finding.rules],
        "turn_indexes": list(finding.turn_indexes),
        "confidences": list(finding.confidences),
    }


def report_failures(message: Message, work: Work) -> None:
    """A task has failed as often as is escalated."""
    signal, cause, at = message.value, position(message.record), message.record.timestamp
    own = ("task_id", "session_id", "failures", "first_sequence", "last_sequence")
    found = {name: signal[name] for name in own} | {
        "detector": FAILURES,
        "rules": [rules.FAILURES_REACHED.code],
        "thresholds": {"failures": signal["threshold"]},
    }
    escalation_id = uuid5_url(f"headrace:{cause}/0")
    target = lineage.task_node(signal["task_id"])
    parent = header(message.record, "traceparent")
    _send(escalation_id, found, target, at, cause, parent, work)


def forget(task_id: str, work: Work) -> None:
    """A task was turned back: its agents are watched anew."""
    rows, keys = work.rows(SAOP_DETECTORS), [composite(task_id, agent) for agent in AGENTS]
    rows.load(keys)
    for key in keys:
        if rows.get(key) is not None:
            rows.delete(key)


def _send(
    escalation_id: str,
    found: AvroValue,
    target: str,
    at: int,
    cause: str,
    traceparent: bytes | None,
    work: Work,
) -> None:
    """Write the SaopEscalation, and the edge to what it is about."""
    outcome = OUTCOMES[found["detector"]]
    own = {"escalation_id": escalation_id, "outcome": outcome, "at": at, "cause": cause}
    work.send(
        SAOP_ESCALATIONS,
        found["task_id"],
        {**_EMPTY, **found, **own},
        id=escalation_id,
        at=at,
        cause=cause,
        traceparent=traceparent,
    )
    source = lineage.escalation_node(escalation_id)
    graph.draw((source, "evaluates", target), at, cause, work, traceparent)
