"""Packets of every type to send in tests, and the bench they are sent at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from schemas import to_json
from streams.engine.processor import AvroValue
from streams.protocols.apc.processor import ApcProcessor
from streams.settings import Settings
from tests.unit.processing.harness import START_MS, Harness, Sent
from topology.apc import (
    APC_COORDINATION_TABLE,
    APC_EVENTS,
    APC_INBOX,
    APC_LINEAGE_TABLE,
    APC_OUTCOMES,
    APC_PACKET_STATES_TABLE,
    APC_THROTTLING_TABLE,
    APC_TRANSFERS,
)
from topology.keys import composite

Json = dict[str, Any]

SESSION = "sess-01"
SETTINGS = dict(Settings().as_work())
PASSING = {
    "rtf": 1.0,
    "stability": 0.9,
    "audit": 1.0,
    "outcome": 0.5,
    "learnability": 0.7,
    "generalization_ratio": 0.8,
    "drift_risk": 0.3,
}
THRESHOLDS = {name: bound for name, bound in PASSING.items() if name != "drift_risk"}

PHASE_OF = {
    "TASK_IR": "RESEARCH",
    "IDEA": "DISCOVERY",
    "CLAIM": "RESEARCH",
    "ARTIFACT": "EXECUTION",
    "EVAL": "EXECUTION",
    "TRANSFER": "REFINEMENT",
    "ARBITRATION": "ARBITRATION",
    "DECISION": "EXECUTION",
    "RETRACTION": "VALIDATION",
    "ERROR": "EXECUTION",
    "SIGNAL": "DISCOVERY",
    "HEARTBEAT": "DISCOVERY",
    "ACK": "DISCOVERY",
    "NACK": "DISCOVERY",
}


def pid(n: int) -> str:
    """A packet id that a reader can tell from others."""
    return str(UUID(int=0xA << 124 | n))


def payload_of(packet_type: str) -> Json:
    signal: Json = {"signal": "QUERY"}
    ack: Json = {"acked_packet_id": pid(1), "ack_status": "ACCEPTED"}
    payloads: dict[str, Json] = {
        "TASK_IR": {
            "ir_header": {
                "task_id": "task-01",
                "run_id": "run-01",
                "swarm_id": "sw-a",
                "dialect_id": "d",
                "dialect_hash": "00",
            },
            "objects": [
                {
                    "type": "Claim",
                    "id": "c",
                    "hypothesis_id": "h",
                    "text": "t",
                    "confidence_pre": 0.5,
                    "confidence_post": 0.6,
                }
            ],
        },
        "IDEA": {
            "method_id": "m",
            "intent": "calibrate",
            "assumptions": ["none"],
            "required_capabilities": [],
            "expected_impact": {"quality_gain": 0.12, "cost_change": 0, "risk_change": -0.1},
            "failure_modes": [{"id": "f", "description": "d", "mitigation": "m"}],
        },
        "CLAIM": {
            "claim_id": "c",
            "hypothesis_id": "h",
            "text": "t",
            "confidence_pre": 0.5,
            "confidence_post": 0.6,
        },
        "ARTIFACT": {
            "artifact_id": "a",
            "artifact_uri": "file:a",
            "artifact_hash": "00",
            "artifact_kind": "CODE_PATCH",
        },
        "EVAL": {"metric_set": dict(PASSING), "thresholds": dict(THRESHOLDS), "pass": True},
        "TRANSFER": {
            "protocol_id": "px",
            "from_swarm": "sw-a",
            "to_swarm": "sw-b",
            "sender_score": 0.9,
            "receiver_score": 0.4,
            "transfer_policy": {"mode": "SELECTIVE_IMPORT", "min_generation": 0, "top_k": 2},
        },
        "ARBITRATION": {
            "arbitration_id": "arb",
            "winner_candidate_id": "one",
            "candidates": [candidate("one", 0.9), candidate("two", 0.4)],
            "scoring": {"quality": 1},
        },
        "DECISION": {
            "decision_id": "d",
            "recommendation": "go",
            "priority_distribution": {"go": 1},
            "next_actions": [],
        },
        "RETRACTION": {"target_packet_id": pid(1), "reason": "wrong"},
        "ERROR": {"error_code": "e", "message": "m", "retryable": True},
        "SIGNAL": signal,
        "HEARTBEAT": signal,
        "ACK": ack,
        "NACK": ack,
    }
    return payloads[packet_type]


def candidate(name: str, score: float, *refs: str) -> Json:
    return {
        "candidate_id": name,
        "packet_ref_ids": list(refs),
        "score_components": {},
        "total_score": score,
    }


def packet(
    packet_type: str,
    n: int,
    *,
    sender: str = "builder-1",
    swarm: str = "sw-a",
    to: tuple[str, ...] = ("sentinel-1",),
    session: str = SESSION,
    payload: Mapping[str, Any] | None = None,
    routing: Mapping[str, Any] | None = None,
    **members: Any,
) -> Json:
    """A valid packet with id `pid(n)`; payload and routing members are added to the usual ones.

    A member given as None is left out.
    """
    made: Json = {
        "protocol_version": "apc/1.0",
        "packet_id": pid(n),
        "packet_type": packet_type,
        "channel": "INTER_AGENT",
        "run_phase": PHASE_OF[packet_type],
        "created_at": "2026-01-01T00:00:00Z",
        "sender": {"agent_id": sender, "role": "builder", "swarm_id": swarm},
        "recipients": [{"agent_id": agent} for agent in to],
        "trace": {
            "session_id": session,
            "run_id": "run-01",
            "task_id": "task-01",
            "root_packet_id": pid(n),
            "generation": 12,
            "step": 1,
        },
        "routing": {
            "delivery_mode": "DIRECT",
            "priority": 5,
            "ttl_ms": 30_000,
            "requires_ack": False,
            **(routing or {}),
        },
        "confidence": 0.74,
        "symbolic_keys": ["k"],
        "payload": {**payload_of(packet_type), **(payload or {})},
    }
    if packet_type in ("CLAIM", "EVAL"):
        made["proof_bundle"] = {"evidence_refs": ["log:1"]}
    if packet_type == "TRANSFER":
        made["lineage"] = {"protocol_id": "px"}
    made.update(members)
    return {name: value for name, value in made.items() if value is not None}


def waiting(
    n: int,
    *,
    packet_type: str = "IDEA",
    to: tuple[str, ...] = ("a", "b"),
    ttl_ms: int = 30_000,
    ack_timeout_ms: int | None = None,
    retry_limit: int | None = None,
    **members: Any,
) -> Json:
    """A packet that asks for acknowledgements."""
    routing: Json = {"requires_ack": True, "ttl_ms": ttl_ms}
    if ack_timeout_ms is not None:
        routing["ack_timeout_ms"] = ack_timeout_ms
    if retry_limit is not None:
        routing["retry_limit"] = retry_limit
    return packet(packet_type, n, to=to, routing=routing, **members)


def ack(
    n: int, of: int, agent: str, status: str = "ACCEPTED", *, nack: bool = False, **members: Any
) -> Json:
    payload = {"acked_packet_id": pid(of), "ack_status": status}
    reason = members.pop("reason", None)
    if reason is not None:
        payload["reason"] = reason
    return packet(
        "NACK" if nack else "ACK", n, sender=agent, to=("builder-1",), payload=payload, **members
    )


def retraction(n: int, of: int, **members: Any) -> Json:
    return packet("RETRACTION", n, payload={"target_packet_id": pid(of)}, **members)


def deferred(n: int, packet_type: str = "IDEA", **members: Any) -> Json:
    return packet(packet_type, n, metadata={"verification": "deferred"}, **members)


def evaluation(n: int, *of: int, ok: bool = True, **members: Any) -> Json:
    """An EVAL that refers to packets; its metrics meet the gates unless given otherwise."""
    thresholds = THRESHOLDS if ok else {**THRESHOLDS, "rtf": 1.5}
    refs = [f"packet:{pid(one)}" for one in of]
    payload = {"pass": ok, "thresholds": thresholds, **members.pop("payload", {})}
    return packet("EVAL", n, payload=payload, proof_bundle={"evidence_refs": refs}, **members)


class Bench(Harness):
    """An apc processor with its tables; times in tests are ms after the start."""

    def __init__(self, *, partitions: int = 1, **settings: Any) -> None:
        super().__init__(ApcProcessor(), {**SETTINGS, **settings}, partitions=partitions)

    def give(self, packet: Json, ms: int | None = None, **more: Any) -> list[Json]:
        """Judge one packet; returns the facts in JSON, the verdict and what came with it."""
        at = None if ms is None else START_MS + ms
        return self.facts(self.decide_json(packet, at, **more))

    def facts(self, sent: list[Sent] | None = None) -> list[Json]:
        return [one.json for one in self.of(APC_EVENTS, sent)]

    def verdict(self, packet: Json, ms: int | None = None, **more: Any) -> Json:
        """Judge one packet; the fact owed to it."""
        facts = self.give(packet, ms, **more)
        (verdict,) = (f for f in facts if f["verdict"] in ("accepted", "duplicate", "rejected"))
        return verdict

    def state(self, n: int, session: str = SESSION) -> AvroValue:
        row = self.row(APC_PACKET_STATES_TABLE, composite(session, pid(n)))
        assert row is not None
        return row

    def reads(self, *rows: AvroValue) -> None:
        """What the copy of the protocols' totals holds from now on."""
        self.copied[APC_LINEAGE_TABLE.name] = {composite(row["protocol_id"]): row for row in rows}

    def rows_of_coordination(self) -> dict[str, Json]:
        rows = self.rows(APC_COORDINATION_TABLE).items()
        return {key: to_json(APC_COORDINATION_TABLE.record, row) for key, row in rows}

    def rows_of_throttling(self) -> dict[str, Json]:
        rows = self.rows(APC_THROTTLING_TABLE).items()
        return {key: to_json(APC_THROTTLING_TABLE.record, row) for key, row in rows}

    def outcomes(self, sent: list[Sent] | None = None) -> list[Json]:
        """The changes of evidence about strategies."""
        return [one.json for one in self.of(APC_OUTCOMES, sent)]

    def deltas(self, sent: list[Sent] | None = None) -> list[Json]:
        return [one.json for one in self.of(APC_TRANSFERS, sent)]

    def coordination(self, agent: str | None = None, session: str = SESSION) -> AvroValue:
        """The row of the session, or of one of its agents."""
        row = self.row(APC_COORDINATION_TABLE, composite(*filter(None, (session, agent))))
        assert row is not None
        return row

    def inbox(self, sent: list[Sent] | None = None) -> list[Json]:
        return [one.json for one in self.of(APC_INBOX, sent)]


def events(history: list[Json]) -> list[str]:
    return [transition["event"] for transition in history]


def at(ms: int) -> str:
    """The time ms after the start, as facts show it."""
    return f"2026-01-01T00:00:{ms // 1000:02}.{ms % 1000:03}Z"


def timers(bench: Bench) -> set[tuple[int, str]]:
    """The armed timers, (ms after the start, kind); all of them must be packet 1's."""
    assert all(key == composite(SESSION, pid(1)) for _, _, key in bench.timers)
    return {(due - START_MS, kind) for due, kind, _ in bench.timers}


def transfer(
    n: int,
    to_swarm: str = "sw-b",
    *,
    generation: int = 14,
    phase: str = "REFINEMENT",
    scores: tuple[float, float] = (0.9, 0.4),
    policy: Mapping[str, Any] | None = None,
    lineage: Mapping[str, Any] | None = None,
    payload: Mapping[str, Any] | None = None,
    **members: Any,
) -> Json:
    """A TRANSFER of `px` from sw-a that no rule refuses, unless given otherwise.

    A member of policy or lineage given as None is left out.
    """
    protocol = (payload or {}).get("protocol_id", "px")
    mode = {"mode": "WINNER_TO_LOSERS", "min_generation": 11, "top_k": 2, **(policy or {})}
    named = {"protocol_id": protocol, **(lineage or {})}
    made = packet(
        "TRANSFER",
        n,
        run_phase=phase,
        payload={
            "to_swarm": to_swarm,
            "sender_score": scores[0],
            "receiver_score": scores[1],
            "transfer_policy": {k: v for k, v in mode.items() if v is not None},
            **(payload or {}),
        },
        lineage={k: v for k, v in named.items() if v is not None},
        **members,
    )
    made["trace"]["generation"] = generation
    return made


def at_task(made: Json, task_id: str = "task-01", run_id: str = "run-01") -> Json:
    made["trace"].update(task_id=task_id, run_id=run_id)
    return made


def lineage_row(protocol: str = "px", **members: Any) -> AvroValue:
    """The total row of a protocol that does well, unless given otherwise."""
    return {
        "protocol_id": protocol,
        "run_id": None,
        "packets": 4,
        "transfers": 4,
        "accepted": 4,
        "cross": 0,
        "tasks": 1,
        "outcome_weight": 4,
        "outcome_sum_nano": 4 * 10**9,
        "drift_weight": 4,
        "drift_sum_nano": 0,
        "run_count": 1,
        "acceptance_rate": 1.0,
        "avg_outcome": 1.0,
        "avg_drift_risk": 0.0,
        "effectiveness_score": 1.0,
        "blocked": False,
        "blocked_reasons": [],
        "blocked_since": None,
        "last_seen_at": START_MS,
        "version": 7,
        **members,
    }


DECAYED: Json = {
    "blocked": True,
    "blocked_reasons": ["effectiveness_below_threshold", "drift_unmeasured"],
    "effectiveness_score": 0.25,
    "avg_drift_risk": None,
    "transfers": 6,
    "accepted": 3,
}
