"""The checks of a TRANSFER: their inputs, a function for each, and their order.

The demands of its generation and of its run phase are values of the policy.  Every comparison uses
exact decimals.  Nothing here reads a table of the processor: the caller passes the receivers so
far, and whether the protocol has decayed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from schemas.apc import rules
from schemas.decimals import dec, format_plain, product
from streams.engine.processor import AvroValue
from streams.protocols.apc.policy_values import TransferBounds, Window

PASS, FAIL = "pass", "fail"
NOT_APPLICABLE, NOT_REACHED = "not_applicable", "not_reached"


class Transfer(NamedTuple):
    """The members of a packet that the checks compare."""

    protocol_id: str
    lineage_protocol_id: str
    to_swarm: str
    run_phase: str
    generation: int
    sender_score: Decimal
    receiver_score: Decimal
    confidence: Decimal
    top_k: int | None
    mode: str
    cross_use_case: bool
    min_generation: int
    threshold_multiplier: Decimal | None


class ThrottleState(NamedTuple):
    """The other inputs of the checks: the receivers so far, the protocol's decay, the bounds.

    decay: {blocked, reasons, transfer_count, effectiveness_score, avg_drift_risk, mode,
    lineage_version}.
    """

    receivers: Sequence[str]
    decay: AvroValue
    bounds: TransferBounds


def transfer_of(packet: AvroValue) -> Transfer:
    """Return the Transfer of a well-formed TRANSFER (Avro value)."""
    payload, lineage = packet["payload"][1], packet["lineage"]
    policy = payload["transfer_policy"]
    threshold = policy["threshold_multiplier"]
    return Transfer(
        payload["protocol_id"],
        lineage["protocol_id"],
        payload["to_swarm"],
        packet["run_phase"],
        packet["trace"]["generation"],
        dec(payload["sender_score"]),
        dec(payload["receiver_score"]),
        dec(packet["confidence"]),
        policy["top_k"],
        policy["mode"],
        bool(lineage["cross_use_case"]),
        policy["min_generation"],
        None if threshold is None else dec(threshold),
    )


class Outcome(NamedTuple):
    """The outcome of a check; `left op right` is the comparison it made, if it made one."""

    outcome: str
    left: str | None = None
    op: str | None = None
    right: str | None = None


Check = Callable[[Transfer, Window, ThrottleState], Outcome]

UNREACHED = Outcome(NOT_REACHED)
_NOT_APPLICABLE = Outcome(NOT_APPLICABLE)
_PASSED = Outcome(PASS)
_FAILED = Outcome(FAIL)


def _compare(ok: bool, left: str, op: str, right: str) -> Outcome:
    return Outcome(PASS if ok else FAIL, left, op, right)


def _compare_scores(transfer: Transfer, factor: Decimal) -> Outcome:
    """Check that the sender's score is strictly above the receiver's times the factor."""
    score, bound = transfer.sender_score, product(transfer.receiver_score, factor)
    return _compare(score > bound, format_plain(score), ">", format_plain(bound))


def _lineage_mismatch(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    left, right = transfer.lineage_protocol_id, transfer.protocol_id
    return _compare(left == right, left, "=", right)


def _generation_disabled(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    return _compare(window.enabled, str(transfer.generation), ">=", str(state.bounds.first_enabled))


def _score_below_window(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    return (
        _NOT_APPLICABLE
        if window.multiplier is None
        else _compare_scores(transfer, window.multiplier)
    )


def _top_k_missing(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    if window.top_k_limit is None:
        return _NOT_APPLICABLE
    return _FAILED if transfer.top_k is None else _PASSED


def _top_k_over_limit(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    top_k, limit = transfer.top_k, window.top_k_limit
    if top_k is None or limit is None:
        return _NOT_APPLICABLE
    return _compare(top_k <= limit, str(top_k), "<=", str(limit))


def _cross_use_case(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    if window.cross_use_case:
        return _PASSED
    crosses = transfer.cross_use_case
    return _compare(not crosses, "true" if crosses else "false", "=", "false")


def _phase_guard_score(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    return _compare_scores(transfer, state.bounds.refinement_multiplier)


def _phase_guard_top_k(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    top_k, limit = transfer.top_k, state.bounds.convergence_top_k
    if top_k is None:
        return _FAILED
    return _compare(top_k <= limit, str(top_k), "<=", str(limit))


def _phase_guard_mode(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    mode, allowed = transfer.mode, state.bounds.promotion_modes
    return _compare(mode in allowed, mode, "in", ", ".join(allowed))


def _phase_guard_none(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    return _NOT_APPLICABLE


def _min_generation(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    generation, minimum = transfer.generation, transfer.min_generation
    return _compare(generation >= minimum, str(generation), ">=", str(minimum))


def _threshold_multiplier(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    factor = transfer.threshold_multiplier
    return _NOT_APPLICABLE if factor is None else _compare_scores(transfer, factor)


def _top_k_exhausted(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    top_k, receivers = transfer.top_k, state.receivers
    if top_k is None:
        return _NOT_APPLICABLE
    if transfer.to_swarm in receivers:
        return _PASSED
    return _compare(len(receivers) < top_k, str(len(receivers)), "<", str(top_k))


def _protocol_decayed(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    mode = state.decay["mode"]
    if not state.decay["blocked"] or mode == "flag":
        return _PASSED
    if mode == "always":
        return _FAILED
    late = state.bounds.late_from
    return _compare(transfer.generation < late, str(transfer.generation), "<", str(late))


PHASE_GUARDS: dict[str, tuple[str, Check]] = {
    "REFINEMENT": (rules.PHASE_GUARD_SCORE.code, _phase_guard_score),
    "CONVERGENCE": (rules.PHASE_GUARD_TOP_K.code, _phase_guard_top_k),
    "PROMOTION": (rules.PHASE_GUARD_MODE.code, _phase_guard_mode),
}
_NO_GUARD: tuple[str, Check] = ("phase_guard", _phase_guard_none)
_BEFORE_GUARD: tuple[tuple[str, Check], ...] = (
    (rules.LINEAGE_MISMATCH.code, _lineage_mismatch),
    (rules.GENERATION_DISABLED.code, _generation_disabled),
    (rules.SCORE_BELOW_WINDOW.code, _score_below_window),
    (rules.TOP_K_MISSING.code, _top_k_missing),
    (rules.TOP_K_OVER_LIMIT.code, _top_k_over_limit),
    (rules.CROSS_USE_CASE_NOT_ALLOWED.code, _cross_use_case),
)
_AFTER_GUARD: tuple[tuple[str, Check], ...] = (
    (rules.MIN_GENERATION.code, _min_generation),
    (rules.THRESHOLD_MULTIPLIER.code, _threshold_multiplier),
    (rules.TOP_K_EXHAUSTED.code, _top_k_exhausted),
    (rules.PROTOCOL_DECAYED.code, _protocol_decayed),
)


@lru_cache
def checks_of(run_phase: str) -> tuple[tuple[str, Check], ...]:
    """Return checks 4 to 14 of a phase, in order."""
    return (*_BEFORE_GUARD, PHASE_GUARDS.get(run_phase, _NO_GUARD), *_AFTER_GUARD)


def message(
    code: str, outcome: Outcome, transfer: Transfer, window: Window, state: ThrottleState
) -> str:
    """Return the message of a check that failed, with the values compared."""
    return _MESSAGES[code].format(
        found=outcome,
        transfer=transfer,
        window=window,
        bounds=state.bounds,
        receivers=", ".join(state.receivers),
        decay=state.decay,
        reasons=", ".join(state.decay["reasons"]),
    )


_NOT_ABOVE = "Sender score {found.left} is not above {found.right}, which is "
_TIMES = " times the receiver score {transfer.receiver_score}."
_MESSAGES: dict[str, str] = {
    "lineage_mismatch": "lineage names protocol {found.left}, the payload {found.right}.",
    "generation_disabled": "{window.name} allows no transfer; this is generation {found.left}.",
    "score_below_window": _NOT_ABOVE + "{window.multiplier}" + _TIMES,
    "top_k_missing": "{window.name} limits top_k to {window.top_k_limit}; the policy has none.",
    "top_k_over_limit": "top_k {found.left} is above {found.right}, the limit of {window.name}.",
    "cross_use_case_not_allowed": "{window.name} forbids transfers across use cases.",
    "phase_guard_score": _NOT_ABOVE + "{bounds.refinement_multiplier:f}" + _TIMES,
    "phase_guard_top_k": "{transfer.run_phase} wants a top_k of at most "
    "{bounds.convergence_top_k}.",
    "phase_guard_mode": "{transfer.run_phase} allows {found.right}, not {found.left}.",
    "min_generation": "Generation {found.left} is below the policy's {found.right}.",
    "threshold_multiplier": _NOT_ABOVE + "{transfer.threshold_multiplier}" + _TIMES,
    "top_k_exhausted": "{receivers} received it already; top_k is {found.right}.",
    "protocol_decayed": "Protocol {transfer.protocol_id} has decayed ({reasons}): effectiveness "
    "{decay[effectiveness_score]} over {decay[transfer_count]} transfers.",
}
