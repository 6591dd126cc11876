"""The packets of the story."""

from __future__ import annotations

import json
import uuid
from importlib.resources import files
from typing import Any

Json = dict[str, Any]
BUILDER = {"agent_id": "builder-1", "role": "builder", "swarm_id": "swarm-hybrid"}
SENTINEL = {"agent_id": "sentinel-1", "role": "sentinel", "swarm_id": "swarm-hybrid"}


def example(session: str) -> Json:
    """Return the IDEA packet that APC/1.0 prints as its example, in the demo's own session."""
    text = (files("schemas") / "examples" / "apc" / "idea.json").read_text()
    packet: Json = json.loads(text)
    return {**packet, "trace": {**packet["trace"], "session_id": session}}


def new(of: Json, kind: str, phase: str, payload: Json, **members: Any) -> Json:
    """Return another packet of the same session, run and task, without an acknowledgement."""
    packet_id = str(uuid.uuid4())
    return {
        "protocol_version": "apc/1.0",
        "packet_id": packet_id,
        "packet_type": kind,
        "channel": "INTER_AGENT",
        "run_phase": phase,
        "sender": BUILDER,
        "recipients": [{"agent_id": SENTINEL["agent_id"]}],
        "trace": {**of["trace"], "root_packet_id": packet_id},
        "routing": {**of["routing"], "requires_ack": False},
        "confidence": 0.9,
        "symbolic_keys": [],
        "payload": payload,
        **members,
    }


def ack(of: Json) -> Json:
    payload = {"acked_packet_id": of["packet_id"], "ack_status": "ACCEPTED"}
    recipients = [{"agent_id": of["sender"]["agent_id"]}]
    return new(of, "ACK", "DISCOVERY", payload, sender=SENTINEL, recipients=recipients)


def impatient(of: Json) -> Json:
    """Return the same idea, to be acknowledged within half a second, with one redelivery."""
    routing = {**of["routing"], "requires_ack": True, "ack_timeout_ms": 500, "retry_limit": 1}
    return new(of, "IDEA", "DISCOVERY", of["payload"], routing=routing)


def evaluation(of: Json) -> Json:
    """Return an EVAL that meets every promotion gate."""
    metrics = {
        "rtf": 1.0,
        "stability": 0.95,
        "audit": 1.0,
        "outcome": 0.8,
        "learnability": 0.75,
        "generalization_ratio": 0.9,
    }
    payload = {
        "metric_set": {**metrics, "drift_risk": 0.1},
        "thresholds": dict.fromkeys(metrics, 0.5),
        "pass": True,
    }
    proof = {"evidence_refs": [f"packet:{of['packet_id']}"]}
    return new(of, "EVAL", "VALIDATION", payload, proof_bundle=proof)


def decision(of: Json) -> Json:
    payload = {
        "decision_id": "decision-1",
        "recommendation": "Use the calibrated model.",
        "priority_distribution": {"ship": 0.8, "wait": 0.2},
        "next_actions": ["write the patch"],
        "commitment_level": "APPROVED",
    }
    return new(of, "DECISION", "VALIDATION", payload)


def retraction(of: Json) -> Json:
    payload = {"target_packet_id": of["packet_id"], "reason": "leakage was found"}
    return new(of, "RETRACTION", "VALIDATION", payload)


def transition(session: str, from_state: str, to_state: str) -> Json:
    """Return an event of the agent's own task."""
    return {
        "event_id": str(uuid.uuid4()),
        "session_id": session,
        "payload": {
            "type": "TASK_TRANSITION",
            "task_id": "task-01",
            "from_state": from_state,
            "to_state": to_state,
            "timestamp": "2026-02-19T07:50:00Z",
        },
    }
