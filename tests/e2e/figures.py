"""Figures that follow from a packet alone, worked out without the service."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal

from schemas import canonical_json
from tests.e2e.outputs import Json

GATES = {
    "rtf": "1",
    "stability": "0.9",
    "audit": "1",
    "outcome": "0.5",
    "learnability": "0.7",
    "generalization_ratio": "0.8",
}

PHASES = {
    "TASK_IR": "RESEARCH DISCOVERY",
    "IDEA": "RESEARCH DISCOVERY REFINEMENT",
    "CLAIM": "RESEARCH DISCOVERY REFINEMENT ARBITRATION VALIDATION",
    "ARTIFACT": "DISCOVERY EXECUTION PROMOTION",
    "EVAL": "EXECUTION VALIDATION",
    "TRANSFER": "REFINEMENT CONVERGENCE PROMOTION",
    "ARBITRATION": "REFINEMENT CONVERGENCE ARBITRATION",
    "DECISION": "CONVERGENCE ARBITRATION EXECUTION VALIDATION PROMOTION",
    "RETRACTION": "VALIDATION",
    "ERROR": "EXECUTION",
}
"""The phases that allow a type; those that are not here are allowed in every phase."""


def gates_met(metrics: Json) -> bool:
    """Six metrics are high enough, and the drift, 1.0 when it is missing, is low enough."""
    drift = Decimal(repr(metrics.get("drift_risk", 1)))
    high = all(Decimal(repr(metrics[name])) >= Decimal(bound) for name, bound in GATES.items())
    return high and drift <= Decimal("0.3")


def is_unproved(packet: Json) -> bool:
    """Whether a claim bears on a decision, and has neither evidence nor a falsifier."""
    if packet["packet_type"] != "CLAIM" or packet["run_phase"] not in ("ARBITRATION", "VALIDATION"):
        return False
    proof = packet["proof_bundle"]
    refs = proof.get("evidence_refs") or []
    return not proof.get("falsifiers") and not any(ref.strip() for ref in refs)


def ms(at: str) -> int:
    return round(datetime.fromisoformat(at).timestamp() * 1000)


def identity(packet: Json) -> str:
    members = {name: member for name, member in packet.items() if name != "created_at"}
    return hashlib.sha256(canonical_json(members)).hexdigest()


def task_of(packet: Json) -> tuple[str, str, str]:
    trace = packet["trace"]
    return trace["session_id"], trace["run_id"], trace["task_id"]


def outcomes(packet: Json) -> Iterator[tuple[str, str]]:
    """(packet_id, outcome) of what an EVAL or ARBITRATION refers to, in order."""
    payload = packet["payload"]
    if packet["packet_type"] == "EVAL":
        refs = packet["proof_bundle"].get("evidence_refs", [])
        named = dict.fromkeys(ref[7:] for ref in refs if ref.startswith("packet:"))
        yield from ((packet_id, "pass" if payload["pass"] else "fail") for packet_id in named)
        return
    winner = payload["winner_candidate_id"]
    won = [c["packet_ref_ids"] for c in payload["candidates"] if c["candidate_id"] == winner]
    passed = {ref for refs in won for ref in refs}
    every = dict.fromkeys(ref for c in payload["candidates"] for ref in c["packet_ref_ids"])
    yield from ((ref, "pass" if ref in passed else "superseded") for ref in every)


def named_by(packet: Json) -> list[str]:
    """The packets that an EVAL or ARBITRATION refers to, as often as it does."""
    if packet["packet_type"] == "EVAL":
        refs = packet["proof_bundle"].get("evidence_refs", [])
        return [ref[7:] for ref in refs if ref.startswith("packet:")]
    return [ref for c in packet["payload"]["candidates"] for ref in c["packet_ref_ids"]]
