"""Throttling: the checks of a TRANSFER, their outcomes, and the receivers so far.

The first check that fails decides; those after it are not reached.  The record holds all values
compared, so that a reader can repeat the comparisons.

A throttle row is of a protocol, a swarm that sends it and a generation of a run.  A receiver
takes one place in it for good, since it has seen what it received, whatever becomes of the packet.
Refused transfers are counted by the rule that refused them.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from schemas.apc import rules
from schemas.decimals import difference, product, round6, total
from streams.engine.processor import AvroValue
from streams.protocols.apc.policy_values import TransferBounds, Window
from streams.protocols.apc.processor.batch import BatchContext, Inbound
from streams.protocols.apc.processor.transfer_checks import (
    FAIL,
    PASS,
    UNREACHED,
    Outcome,
    ThrottleState,
    Transfer,
    checks_of,
    message,
    transfer_of,
)

WITHOUT_SELECTOR = "phase_guard_only"
_CONFIDENCE_WEIGHT = Decimal("0.25")
_CROSS_USE_CASE_BONUS = Decimal("0.05")
_ZERO = Decimal(0)
_TRANSFER = "headrace.apc.TransferPayload"
_NO_DECAY: AvroValue = {
    "blocked": False,
    "reasons": [],
    "transfer_count": 0,
    "effectiveness_score": 0.0,
    "avg_drift_risk": None,
    "lineage_version": 0,
}


def throttle(packet: Inbound, context: BatchContext) -> ThrottleResult:
    """Make checks 4 to 14 and set the packet's `throttle`."""
    row = context.throttling.get(_key(packet))
    receivers = [] if row is None else [receiver["to_swarm"] for receiver in row["receivers"]]
    policy = context.policy
    decay = decay_record(context.lineage(packet.payload["protocol_id"]), policy.decay_mode)
    state = ThrottleState(receivers, decay, policy.transfers)
    result = make_checks(transfer_of(packet.value), state)
    packet.throttle = result.throttle
    if result.flagged:
        packet.warnings.append(rules.PROTOCOL_DECAYED.code)
    return result


def decay_record(lineage: AvroValue | None, mode: str) -> AvroValue:
    """Return a protocol's `decay` as a Throttle has it; lineage: its total row, if it has one."""
    if lineage is None:
        return {**_NO_DECAY, "mode": mode}
    return {
        "blocked": lineage["blocked"],
        "reasons": lineage["blocked_reasons"],
        "transfer_count": lineage["transfers"],
        "effectiveness_score": lineage["effectiveness_score"],
        "avg_drift_risk": lineage["avg_drift_risk"],
        "mode": mode,
        "lineage_version": lineage["version"],
    }


class ThrottleResult(NamedTuple):
    """The outcome of the checks of a TRANSFER.

    throttle: the Throttle record.  rule, message: of the check that failed, else None and "".
    """

    throttle: AvroValue
    rule: str | None
    message: str

    @property
    def flagged(self) -> bool:
        """Return whether the protocol has decayed and the packet passes all the same."""
        decayed = self.throttle["checks"][-1]["outcome"]
        return bool(self.throttle["decay"]["blocked"]) and decayed == PASS


def make_checks(transfer: Transfer, state: ThrottleState) -> ThrottleResult:
    """Make the checks in order and record their outcomes."""
    window = state.bounds.window_of(transfer.generation)
    checks: list[AvroValue] = []
    rule, text = None, ""
    for code, check in checks_of(transfer.run_phase):
        outcome = UNREACHED if rule else check(transfer, window, state)
        checks.append(_check_record(code, outcome))
        if outcome.outcome == FAIL:
            rule, text = code, message(code, outcome, transfer, window, state)
    return ThrottleResult(_throttle(transfer, window, state, checks, rule), rule, text)


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
    above = _required_above(transfer, window, state.bounds)
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


def _required_above(transfer: Transfer, window: Window, bounds: TransferBounds) -> Decimal | None:
    """Return the score that the sender must exceed; None if nothing compares the scores."""
    guard = bounds.refinement_multiplier if transfer.run_phase == "REFINEMENT" else None
    named = (window.multiplier, guard, transfer.threshold_multiplier)
    factors = [factor for factor in named if factor is not None]
    return product(transfer.receiver_score, max(factors)) if factors else None


def _check_record(code: str, outcome: Outcome) -> AvroValue:
    return {
        "rule": code,
        "outcome": outcome.outcome,
        "left": outcome.left,
        "op": outcome.op,
        "right": outcome.right,
    }


def selection(
    sender: Decimal, receiver: Decimal, confidence: Decimal, cross_use_case: bool, label: str | None
) -> AvroValue:
    """Compute how strongly a TRANSFER recommends itself; it orders arbitrations, decides no
    verdict.

        selection_score = max(0, sender − receiver) + 0.25 × confidence + 0.05 if cross use case

    Returns {selector, selection_score, score_delta, recommended_accept}; label: the window's.
    """
    delta = difference(sender, receiver)
    score = total(max(_ZERO, delta), product(_CONFIDENCE_WEIGHT, confidence))
    rounded = round6(total(score, _CROSS_USE_CASE_BONUS) if cross_use_case else score)
    return {
        "selector": label or WITHOUT_SELECTOR,
        "selection_score": rounded,
        "score_delta": round6(delta),
        "recommended_accept": rounded > 0 and delta > 0,
    }


def ranking_row(packet_id: str, transfer: AvroValue) -> AvroValue:
    """Return a TRANSFER as rankings show it.  transfer: the member of its packet row."""
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


def rank(rows: Iterable[AvroValue]) -> list[AvroValue]:
    """Return each packet's first row, the best score first; ties stay in order."""
    first: dict[str, AvroValue] = {}
    for row in rows:
        first.setdefault(row["packet_id"], row)
    return sorted(first.values(), key=lambda row: -float(row["selection_score"]))


def add_receiver(packet: Inbound, context: BatchContext) -> None:
    """Add the receiver of an accepted TRANSFER to the throttle row, once."""
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


def restore_places_left(packet: Inbound) -> None:
    """Correct the places left of a TRANSFER that passed its checks and takes none.

    It had expired, or the coordination of its session refuses it.
    """
    throttle = packet.throttle
    assert throttle is not None
    before = len(throttle["receivers_before"])
    packet.throttle = {**throttle, "places_left": places_left(throttle["top_k"], before)}


def count_refusal(packet: Inbound, rule: str, context: BatchContext) -> None:
    row = _row(packet, context)
    row["rejected"] = {**row["rejected"], rule: row["rejected"].get(rule, 0) + 1}
    context.throttling.put(_key(packet), row)


def transfer_member(packet: Inbound) -> AvroValue | None:
    """Return the member `transfer` of a TRANSFER's row, which arbitrations and removals read."""
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
    """Return the throttle row for this packet to change; a new one if there is none."""
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
        "window": context.policy.transfers.window_of(generation).name,
        "receivers": [],
        "last_top_k": None,
        "accepted": 0,
        "rejected": {},
        "updated_at": packet.at,
    }
