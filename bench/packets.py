"""Seeded APC packets of about 1 KB, as benchmarks send them."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from typing import Any

from schemas import encode, from_json
from streams.engine.records import Output
from topology.apc import APC_PACKETS

SESSIONS = 500


def _packet(rnd: random.Random, number: int, kind: str, session: str) -> dict[str, Any]:
    packet_id = str(uuid.UUID(int=rnd.getrandbits(128), version=4))
    return {
        "protocol_version": "apc/1.0",
        "packet_id": packet_id,
        "packet_type": kind,
        "channel": "INTER_AGENT",
        "run_phase": "DISCOVERY",
        "created_at": "2026-02-19T07:50:00Z",
        "sender": {"agent_id": f"builder-{number % 50}", "role": "builder", "swarm_id": "swarm-a"},
        "recipients": [{"agent_id": f"sentinel-{number % 20}"}],
        "trace": {
            "session_id": session,
            "run_id": "run-01",
            "task_id": f"task-{number % 97}",
            "root_packet_id": packet_id,
            "generation": 4,
            "step": number % 1000,
        },
        "routing": {
            "delivery_mode": "DIRECT",
            "priority": 5,
            "ttl_ms": 3_600_000,
            "requires_ack": False,
        },
        "confidence": 0.74,
        "symbolic_keys": ["predictive", "feature-selection", "calibration"],
    }


def _idea(rnd: random.Random, number: int, session: str, ack: bool) -> dict[str, Any]:
    packet = _packet(rnd, number, "IDEA", session)
    packet["routing"]["requires_ack"] = ack
    packet["payload"] = {
        "method_id": "method-gbdt-calibrated-v2",
        "intent": "Use calibrated gradient boosting on time-split features.",
        "assumptions": ["Label delay is at most 7 days", "No future leakage in feature windows"],
        "required_capabilities": ["time_split_validation", "calibration", "drift_monitoring"],
        "expected_impact": {"quality_gain": 0.12, "cost_change": 0.08, "risk_change": -0.1},
        "failure_modes": [
            {
                "id": "fm-1",
                "description": "Temporal leakage from joined aggregates",
                "mitigation": "Feature window materialization and leakage test",
            }
        ],
    }
    return packet


def _ack(rnd: random.Random, number: int, idea: dict[str, Any]) -> dict[str, Any]:
    packet = _packet(rnd, number, "ACK", idea["trace"]["session_id"])
    packet["sender"]["agent_id"] = idea["recipients"][0]["agent_id"]
    packet["recipients"] = [{"agent_id": idea["sender"]["agent_id"]}]
    packet["payload"] = {"acked_packet_id": idea["packet_id"], "ack_status": "ACCEPTED"}
    return packet


def packets(count: int, seed: int = 7) -> Iterator[dict[str, Any]]:
    """Yield IDEAs; every tenth one requires an acknowledgement, which is the next packet."""
    rnd = random.Random(seed)
    sent = 0
    while sent < count:
        session = f"session-{rnd.randrange(SESSIONS):04d}"
        idea = _idea(rnd, sent, session, ack=sent % 10 == 0)
        yield idea
        sent += 1
        if idea["routing"]["requires_ack"] and sent < count:
            yield _ack(rnd, sent, idea)
            sent += 1


def outputs(count: int, prefix: str, seed: int = 7) -> list[Output]:
    """Return the same packets as records to be appended."""
    name = prefix + APC_PACKETS.name
    record = APC_PACKETS.record or ""
    return [
        Output(name, p["trace"]["session_id"].encode(), encode(record, from_json(record, p)))
        for p in packets(count, seed)
    ]
