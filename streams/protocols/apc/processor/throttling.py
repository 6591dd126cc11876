"""Throttling: a TRANSFER's checks made in order, how each of them went, and who received before.

The first check that fails decides; those after it are not reached.  The record holds all figures,
so that a reader can make the comparisons again.

A throttle row is of a protocol, a swarm that sends it and a generation of a run.  A receiver takes
its place once and keeps it: what was handed over was seen, whatever becomes of the packet.  Refused
transfers are counted by the rule that refused them.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from schemas.apc import rules
from schemas.decimals import difference, product, round6, total
from streams.engine.processor import AvroValue
from streams.protocols.apc.processor.batch import BatchContext, Inbound
from streams.protocols.apc.processor.transfer_checks import (
    FAIL,
    PASS,
    PHASE_MULTIPLIER,
    UNREACHED,
    Outcome,
    ThrottleState,
    Transfer,
    Window,
    checks_of,
    message,
    transfer_of,
    window_of,
)

WITHOUT_SELECTOR = "phase_guard_only"
_OF_CONFIDENCE = Decimal("0.25")
_OF_CROSS_USE_CASE = Decimal("0.05")
_ZERO = Decimal(0)
_TRANSFER = "headrace.apc.TransferPayload"
_UNKNOWN: AvroValue = {
    "blocked": False,
    "reasons": [],
    "transfer_count": 0,
    "effectiveness_score": 0.0,
    "avg_drift_risk": None,
    "lineage_version": 0,
}


def throttled(packet: Inbound, context: BatchContext) -> Judged:
    """Checks 4 to 14; what they saw stays with the packet."""
    row = context.throttling.get(_key(packet))
    receivers = [] if row is None else [receiver["to_swarm"] for receiver in row["receivers"]]
    decay = decay_of(
        context.lineage(packet.payload["protocol_id"]), context.settings["APC_DECAY_MODE"]
    )
    judged = judge(transfer_of(packet.value), ThrottleState(receivers, decay))
    packet.throttle = judged.throttle
    if judged.flagged:
        packet.warnings.append(rules.PROTOCOL_DECAYED.code)
    return judged


def decay_of(lineage: AvroValue | None, mode: str) -> AvroValue:
    """The figures of a protocol as a Throttle shows them; lineage: its total row, if it has one."""
    if lineage is None:
        return {**_UNKNOWN, "mode": mode}
    return {
        "blocked": lineage["blocked"],
        "reasons": lineage["blocked_reasons"],
        "transfer_count": lineage["transfers"],
        "effectiveness_score": lineage["effectiveness_score"],
        "avg_drift_risk": lineage["avg_drift_risk"],
        "mode": mode,
        "lineage_version": lineage["version"],
    }


class Judged(NamedTuple):
    """throttle: the Throttle record.  rule, message: of the check that failed, else None, ""."""

    throttle: AvroValue
    rule: str | None
    message: str

    @property
    def flagged(self) -> bool:
        """The protocol has decayed, and that alone does not refuse the packet."""
        decayed = self.throttle["checks"][-1]["outcome"]
        return bool(self.throttle["decay"]["blocked"]) and decayed == PASS


def judge(transfer: Transfer, state: ThrottleState) -> Judged:
    """Make the checks, and keep what they saw."""
    window = window_of(transfer.generation)
    checks: list[AvroValue] = []
    rule, why = None, ""
    for code, check in checks_of(transfer.run_phase):
        found = UNREACHED if rule else check(transfer, window, state)
        checks.append(_shown(code, found))
        if found.outcome == FAIL:
            rule, why = code, message(code, found, transfer, window, state)
    return Judged(_throttle(transfer, window, state, checks, rule), rule, why)


def places_left(top_k: int | None, receivers: int) -> int | None:
    return None if top_k is None else max(0, top_k - receivers)


def _throttle(
    transfer: Transfer,
    window: Window,
    state: ThrottleState,
    checks: list[AvroValue],
    rule: str | None,
) -> AvroValue:
    known = transfer.to_swarm in state.receivers
    places = len(state.receivers) + (rule is None and not known)
    sender, receiver = transfer.sender_score, transfer.receiver_score
    threshold = transfer.threshold_multiplier
    above = _required_above(transfer, window)
    return {
        "window": window.name,
        "enabled": window.enabled,
        "selector": window.selector,
        "run_phase": transfer.run_phase,
        "generation": transfer.generation,
        "sender_score": float(sender),
        "receiver_score": float(receiver),
        "multiplier": None if window.multiplier is None else float(window.multiplier),
        "required_above": None if above is None else round6(above),
        "top_k": transfer.top_k,
        "top_k_limit": window.top_k_limit,
        "mode": transfer.mode,
        "cross_use_case": transfer.cross_use_case,
        "min_generation": transfer.min_generation,
        "threshold_multiplier": None if threshold is None else float(threshold),
        "to_swarm": transfer.to_swarm,
        "receivers_before": list(state.receivers),
        "already_received": known,
        "places_left": places_left(transfer.top_k, places),
        "decay": state.decay,
        "checks": checks,
        "decided_by": rule or rules.ACCEPTED.code,
        "selection": selection(
            sender, receiver, transfer.confidence, transfer.cross_use_case, window.selector
        ),
    }


def _required_above(transfer: Transfer, window: Window) -> Decimal | None:
    """The largest score that is not yet enough; None if nothing compares the scores."""
    guard = PHASE_MULTIPLIER if transfer.run_phase == "REFINEMENT" else None
    bounds = (window.multiplier, guard, transfer.threshold_multiplier)
    factors = [factor for factor in bounds if factor is not None]
    return product(transfer.receiver_score, max(factors)) if factors else None


def _shown(code: str, found: Outcome) -> AvroValue:
    return {
        "rule": code,
        "outcome": found.outcome,
        "left": found.left,
        "op": found.op,
        "right": found.right,
    }


def selection(
    sender: Decimal, receiver: Decimal, confidence: Decimal, cross_use_case: bool, label: str | None
) -> AvroValue:
    """How strongly a TRANSFER recommends itself; it orders arbitrations and decides no verdict.

        selection_score = max(0, sender − receiver) + 0.25 × confidence + 0.05 if cross use case

    {selector, selection_score, score_delta, recommended_accept}; label: the window's.
    """
    delta = difference(sender, receiver)
    score = total(max(_ZERO, delta), product(_OF_CONFIDENCE, confidence))
    rounded = round6(total(score, _OF_CROSS_USE_CASE) if cross_use_case else score)
    return {
        "selector": label or WITHOUT_SELECTOR,
        "selection_score": rounded,
        "score_delta": round6(delta),
        "recommended_accept": rounded > 0 and delta > 0,
    }


def row_of(packet_id: str, transfer: AvroValue) -> AvroValue:
    """A TRANSFER as rankings show it.  transfer: the member of its packet row."""
    chosen = transfer["selection"]
    return {
        "packet_id": packet_id,
        "to_swarm": transfer["to_swarm"],
        "selector": chosen["selector"],
        "selection_score": chosen["selection_score"],
        "sender_score": transfer["sender_score"],
        "receiver_score": transfer["receiver_score"],
        "score_delta": chosen["score_delta"],
        "recommended_accept": chosen["recommended_accept"],
    }


def ranked(rows: Iterable[AvroValue]) -> list[AvroValue]:
    """Each packet once, the first of it; the best score first, ties in the order given."""
    first: dict[str, AvroValue] = {}
    for row in rows:
        first.setdefault(row["packet_id"], row)
    return sorted(first.values(), key=lambda row: -float(row["selection_score"]))


def take_place(packet: Inbound, context: BatchContext) -> None:
    """An accepted TRANSFER takes its place, unless its receiver has one."""
    row, throttle = _row(packet, context), packet.throttle
    assert throttle is not None
    if not throttle["already_received"]:
        receiver = {
            "to_swarm": throttle["to_swarm"],
            "packet_id": packet.packet_id,
            "at": packet.at,
        }
        row["receivers"] = [*row["receivers"], receiver]
    row["accepted"] += 1
    row["last_top_k"] = throttle["top_k"]
    context.throttling.put(_key(packet), row)


def leave_place(packet: Inbound) -> None:
    """An accepted TRANSFER that had expired takes none, and its record says so."""
    throttle = packet.throttle
    assert throttle is not None
    before = len(throttle["receivers_before"])
    packet.throttle = {**throttle, "places_left": places_left(throttle["top_k"], before)}


def count_refusal(packet: Inbound, rule: str, context: BatchContext) -> None:
    row = _row(packet, context)
    row["rejected"] = {**row["rejected"], rule: row["rejected"].get(rule, 0) + 1}
    context.throttling.put(_key(packet), row)


def transfer_member(packet: Inbound) -> AvroValue | None:
    """The member `transfer` of the row of a TRANSFER: what arbitrations and removals need of it."""
    branch, payload = packet.value["payload"]
    if branch != _TRANSFER:
        return None
    lineage = packet.value["lineage"] or {}
    return {
        "protocol_id": payload["protocol_id"],
        "to_swarm": payload["to_swarm"],
        "sender_score": payload["sender_score"],
        "receiver_score": payload["receiver_score"],
        "accepted": bool(payload["accepted"]),
        "cross_use_case": bool(lineage.get("cross_use_case")),
        "selection": None if packet.throttle is None else packet.throttle["selection"],
    }


def _key(packet: Inbound) -> str:
    key = packet.transfer_key
    assert key is not None
    return key


def _row(packet: Inbound, context: BatchContext) -> AvroValue:
    """The row as it is to be changed by this packet."""
    row = context.throttling.get(_key(packet))
    if row is not None:
        return {**row, "updated_at": packet.at}
    generation = packet.trace["generation"]
    return {
        "session_id": packet.session_id,
        "run_id": packet.trace["run_id"],
        "generation": generation,
        "protocol_id": packet.payload["protocol_id"],
        "from_swarm": packet.payload["from_swarm"],
        "window": window_of(generation).name,
        "receivers": [],
        "last_top_k": None,
        "accepted": 0,
        "rejected": {},
        "updated_at": packet.at,
    }
