"""Envelopes that tests change to their needs."""

from __future__ import annotations

import copy
from typing import Any

IDEA_ID = "7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730"
EVENT_ID = "0b0f4a68-3a52-4a2d-9b0a-7f7a1f0f3a01"

_IDEA: dict[str, Any] = {
    "protocol_version": "apc/1.0",
    "packet_id": IDEA_ID,
    "packet_type": "IDEA",
    "channel": "INTER_AGENT",
    "run_phase": "DISCOVERY",
    "created_at": "2026-02-19T07:50:00Z",
    "sender": {"agent_id": "builder-1", "role": "builder", "swarm_id": "swarm-a"},
    "recipients": [{"agent_id": "sentinel-1"}],
    "trace": {
        "session_id": "s1",
        "run_id": "r1",
        "task_id": "t1",
        "root_packet_id": IDEA_ID,
        "generation": 4,
        "step": 12,
    },
    "routing": {"delivery_mode": "DIRECT", "priority": 5, "ttl_ms": 60000, "requires_ack": True},
    "confidence": 0.74,
    "symbolic_keys": ["calibration"],
    "payload": {
        "method_id": "m1",
        "intent": "Calibrate.",
        "assumptions": [],
        "required_capabilities": [],
        "expected_impact": {"quality_gain": 0.1, "cost_change": 0, "risk_change": -0.1},
        "failure_modes": [],
    },
}


def idea(number: int | None = None, **changes: Any) -> dict[str, Any]:
    """An IDEA packet; a number makes its id.  `a__b=v` changes member b of member a."""
    packet = copy.deepcopy(_IDEA)
    if number is not None:
        packet["packet_id"] = packet["trace"]["root_packet_id"] = packet_id(number)
    return changed(packet, **changes)


def packet_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def ack(of: dict[str, Any], number: int, **changes: Any) -> dict[str, Any]:
    """An ACK of the first recipient."""
    packet = idea(number)
    packet |= {"packet_type": "ACK", "trace": {**of["trace"], "root_packet_id": packet_id(number)}}
    packet["sender"] = {**packet["sender"], "agent_id": of["recipients"][0]["agent_id"]}
    packet["recipients"] = [{"agent_id": of["sender"]["agent_id"]}]
    packet["routing"] = {**packet["routing"], "requires_ack": False}
    packet["payload"] = {"acked_packet_id": of["packet_id"], "ack_status": "ACCEPTED"}
    return changed(packet, **changes)


def transition(number: int = 1, **payload: Any) -> dict[str, Any]:
    """A TASK_TRANSITION event of session s1."""
    return {
        "event_id": f"0b0f4a68-3a52-4a2d-9b0a-{number:012d}",
        "session_id": "s1",
        "payload": {
            "type": "TASK_TRANSITION",
            "task_id": "t1",
            "from_state": "PENDING",
            "to_state": "IN_PROGRESS",
            "timestamp": "2026-02-19T07:50:00Z",
            **payload,
        },
    }


def changed(value: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """`...` as a value takes the member away."""
    for path, new in changes.items():
        *parents, name = path.split("__")
        holder = value
        for parent in parents:
            holder = holder[parent]
        if new is ...:
            del holder[name]
        else:
            holder[name] = new
    return value
