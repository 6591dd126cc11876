"""Verification: at once, or deferred until an EVAL or ARBITRATION of the session decides.

A packet is deferred if its metadata say so, or the policy does of its type.  It waits in APPLIED
without a time limit.  An outcome that comes while it is still ROUTED is stored in its row; the
latest one is used when it reaches APPLIED.

A verified packet may be promoted if an EVAL's metrics meet the gates of the policy.  Metrics are
compared as the decimals they are spelled as.  Two doubles have the same order as their shortest
spellings, so comparing the doubles is comparing those decimals.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemas.apc import rules
from streams.engine.processor import AvroValue
from streams.protocols.apc.policy_values import Gate
from streams.protocols.apc.processor import contributions, lifecycle
from streams.protocols.apc.processor.batch import BatchContext, Inbound, referenced_ids

DRIFT_RISK_WHEN_MISSING = 1.0
THRESHOLD_METRICS = (
    "rtf", "stability", "audit", "outcome", "learnability", "generalization_ratio",
)  # fmt: skip

NO_EVENTS: tuple[str, ...] = ()
PASS, FAIL, SUPERSEDED = "pass", "fail", "superseded"

_RULES = {
    PASS: rules.VERIFIED.code,
    FAIL: rules.EVALUATED_FAIL.code,
    SUPERSEDED: rules.SUPERSEDED.code,
}


def check_gates(metric_set: AvroValue, gates: Sequence[Gate]) -> AvroValue:
    """Return Gates = {met, checks}: which of the seven bounds these metrics meet."""
    checks = [_check(metric_set, *gate) for gate in gates]
    return {"met": all(check["ok"] for check in checks), "checks": checks}


def pass_agrees(payload: AvroValue) -> bool:
    """Return whether an EVAL's `pass` follows from its own thresholds."""
    metrics, thresholds = payload["metric_set"], payload["thresholds"]
    reached = all(metrics[name] >= thresholds[name] for name in THRESHOLD_METRICS)
    return reached is payload["pass"]


def _check(metric_set: AvroValue, metric: str, op: str, threshold: float) -> AvroValue:
    value: float | None = metric_set.get(metric)
    used = DRIFT_RISK_WHEN_MISSING if value is None and metric == "drift_risk" else value
    reached = used is not None and (used >= threshold if op == ">=" else used <= threshold)
    return {
        "metric": metric,
        "value": value,
        "used": used,
        "op": op,
        "threshold": threshold,
        "ok": reached,
    }


def final_events(row: AvroValue, context: BatchContext) -> tuple[str, ...]:
    """Return the events that follow at once when the packet of this row reaches APPLIED."""
    deferred = row["verification"]["mode"] == "deferred"
    outcome = row["verification"]["outcome"] if deferred else PASS
    if outcome is None:
        return ()
    if outcome == PASS:
        return lifecycle.PROMOTED if _promotable(row, context) else lifecycle.VERIFIED
    return lifecycle.FAILED if outcome == FAIL else lifecycle.SUPERSEDED


def _promotable(row: AvroValue, context: BatchContext) -> bool:
    if row["packet_type"] == "EVAL":
        return bool(row["gates"]["met"])
    return row["packet_type"] == "DECISION" and contributions.newest_eval_met_gates(row, context)


def decide(packet: Inbound, context: BatchContext) -> None:
    """Apply an accepted EVAL or ARBITRATION to the packets that it refers to."""
    for target_id, outcome in _outcomes(packet).items():
        row = context.target(packet, target_id)
        if row is None:  # also a packet that refers to itself: its row is written last
            packet.warnings.append(rules.VERIFICATION_TARGET_UNKNOWN.code)
        elif row["verification"]["mode"] == "deferred" and row["state"] in ("ROUTED", "APPLIED"):
            _apply_outcome(packet, row, outcome, context)


def _outcomes(packet: Inbound) -> dict[str, str]:
    """Return the outcome for each packet referred to, in the order of the references."""
    payload = packet.payload
    if packet.packet_type == "EVAL":
        outcome = PASS if payload["pass"] else FAIL
        refs = referenced_ids(packet.value["proof_bundle"]["evidence_refs"])
        return dict.fromkeys(refs, outcome)
    outcomes: dict[str, str] = {}
    for candidate in payload["candidates"]:
        won = candidate["candidate_id"] == payload["winner_candidate_id"]
        for ref in candidate["packet_ref_ids"]:
            target_id = ref.lower()
            if won or target_id not in outcomes:
                outcomes[target_id] = PASS if won else SUPERSEDED
    return outcomes


def _apply_outcome(packet: Inbound, row: AvroValue, outcome: str, context: BatchContext) -> None:
    row["verification"] = {"mode": "deferred", "outcome": outcome, "by": packet.packet_id}
    if row["state"] == "ROUTED":
        rule, events = rules.OUTCOME_KEPT.code, NO_EVENTS
        message = f"{packet.packet_type} says {outcome}, kept until it is applied."
    else:
        rule, events = _RULES[outcome], final_events(row, context)
        message = f"{packet.packet_type} says {outcome}."
    lifecycle.move(packet, row, events, rule, message, context)
