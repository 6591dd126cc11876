"""Escalations of stuck agents and tasks, and the handling of signals about tasks.

Source: SAOP guide, 2.3 (SaopEscalation) and 4.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from schemas import canonical_json, uuid5_url
from schemas.formats import iso_ms
from schemas.rtes.event_type import NAMESPACE
from schemas.rtes.models import AgentId, EscalationRaised
from schemas.saop import rules
from streams.engine.processor import AvroValue, Message, ProcessorContext
from streams.processing.decision import Decision
from streams.processing.graph import LineageEdge
from streams.protocols.saop.lineage import escalation_node, task_node, turn_node
from streams.protocols.saop.processor.detectors import (
    FAILURES,
    OUTCOMES,
    Episode,
    Thresholds,
    observe,
    state_of,
    state_row,
)
from streams.protocols.saop.processor.turn import AcceptedTurn
from topology.keys import composite
from topology.saop import SAOP_DETECTORS, SAOP_ESCALATIONS

AGENTS: Sequence[str] = get_args(AgentId)
_FIRST = 2
"""The facts of a turn are its verdict, its log record, then its escalations."""

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
    "enforced": False,
}
_EVENT = f"{NAMESPACE}.{EscalationRaised.__name__}"
_FIGURES = (*list(_EMPTY)[3:-1], "thresholds")


def watch_turn(
    task_id: str,
    session_id: str | None,
    turn: AcceptedTurn,
    limits: Thresholds,
    decision: Decision,
) -> None:
    """Show a logged turn to the detectors of its agent.

    session_id: of the events of what is found; while it is not known, they are in a session with
    the id of the task, so that nothing waits.
    """
    value = turn.value
    agent, index = value["agent_id"], value["turn_index"]
    key, rows = composite(task_id, agent), decision.work.rows(SAOP_DETECTORS)
    confidence, observation = value["metadata"]["confidence"], value["content"]["observation"]
    state, episodes = observe(state_of(rows.get(key)), index, confidence, observation, limits)
    rows.put(key, state_row(state))
    for n, episode in enumerate(episodes, _FIRST):
        ids = {"task_id": task_id, "agent_id": agent, "turn_index": index}
        escalation_id = uuid5_url(f"headrace:{decision.cause}/{n}")
        evidence, target = ids | _evidence(episode), turn_node(task_id, index)
        _send(escalation_id, session_id or task_id, evidence, target, decision)


def _evidence(episode: Episode) -> AvroValue:
    return episode._asdict() | {
        "rules": [rule.code for rule in episode.rules],
        "turn_indexes": list(episode.turn_indexes),
        "confidences": list(episode.confidences),
    }


def report_failures(message: Message, decision: Decision) -> None:
    """Report a task whose failures have reached the limit for an escalation."""
    signal = message.value
    copied = (
        "task_id", "session_id", "failures", "first_sequence", "last_sequence", "enforced",
    )  # fmt: skip
    evidence = {name: signal[name] for name in copied} | {
        "detector": FAILURES,
        "rules": [rules.FAILURES_REACHED.code],
        "thresholds": {"failures": signal["threshold"]},
    }
    escalation_id = uuid5_url(f"headrace:{decision.cause}/0")
    target = task_node(signal["task_id"])
    _send(escalation_id, signal["session_id"], evidence, target, decision)


def forget(task_id: str, ctx: ProcessorContext) -> None:
    """Delete the detector state of a task that was set back, so that its agents start again."""
    rows, keys = ctx.rows(SAOP_DETECTORS), [composite(task_id, agent) for agent in AGENTS]
    rows.load(keys)
    for key in keys:
        if rows.get(key) is not None:
            rows.delete(key)


def _send(
    escalation_id: str, session_id: str, evidence: AvroValue, target: str, decision: Decision
) -> None:
    """Write the SaopEscalation, the edge to what it is about, and the event in the session."""
    outcome = OUTCOMES[evidence["detector"]]
    ids = {"escalation_id": escalation_id, "outcome": outcome}
    times = {"at": decision.at, "cause": decision.cause}
    value = {**_EMPTY, **evidence, **ids, **times}
    decision.send(SAOP_ESCALATIONS, evidence["task_id"], value, escalation_id)
    decision.emit_edge(LineageEdge(escalation_node(escalation_id), "evaluates", target))
    decision.emit_rtes_event("saop", escalation_id, session_id, _EVENT, _event_payload(value))


def _event_payload(escalation: AvroValue) -> AvroValue:
    """Return the payload of ESCALATION_RAISED; figures are those that the escalation has."""
    figures = {name: escalation[name] for name in _FIGURES if escalation[name] not in (None, [])}
    if escalation["enforced"]:
        figures["enforced"] = True
    copied = ("task_id", "agent_id", "turn_index", "detector", "rules", "outcome")
    return {
        **{name: escalation[name] for name in copied},
        "figures_json": canonical_json(figures).decode(),
        "timestamp": iso_ms(escalation["at"]),
    }
