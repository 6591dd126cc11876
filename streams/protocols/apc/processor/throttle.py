"""Throttling: the checks of a TRANSFER made in order, and the record of how each of them went.

The first check that fails decides; those after it are not reached.  The record holds all figures,
so that a reader can make the comparisons again.
"""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from schemas.apc import rules
from schemas.apc.decimals import product, round6
from streams.engine.processor import AvroValue
from streams.protocols.apc.processor.selection import selection
from streams.protocols.apc.processor.transfer import Standing, Transfer
from streams.protocols.apc.processor.transfer_checks import (
    FAIL,
    PASS,
    UNREACHED,
    Outcome,
    checks_of,
    message,
)
from streams.protocols.apc.processor.windows import PHASE_MULTIPLIER, Window, window_of


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


def judge(transfer: Transfer, standing: Standing) -> Judged:
    """Make the checks, and keep what they saw."""
    window = window_of(transfer.generation)
    checks: list[AvroValue] = []
    rule, why = None, ""
    for code, check in checks_of(transfer.run_phase):
        found = UNREACHED if rule else check(transfer, window, standing)
        checks.append(_shown(code, found))
        if found.outcome == FAIL:
            rule, why = code, message(code, found, transfer, window, standing)
    return Judged(_throttle(transfer, window, standing, checks, rule), rule, why)


def places_left(top_k: int | None, receivers: int) -> int | None:
    return None if top_k is None else max(0, top_k - receivers)


def _throttle(
    transfer: Transfer,
    window: Window,
    standing: Standing,
    checks: list[AvroValue],
    rule: str | None,
) -> AvroValue:
    known = transfer.to_swarm in standing.receivers
    places = len(standing.receivers) + (rule is None and not known)
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
        "receivers_before": list(standing.receivers),
        "already_received": known,
        "places_left": places_left(transfer.top_k, places),
        "decay": standing.decay,
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
