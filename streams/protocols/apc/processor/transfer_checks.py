"""The checks of a TRANSFER: a function for each, and the order in which they are made.

Every comparison is made on exact decimals.  Nothing here reads a table: who received before, and
whether the protocol has decayed, is given.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from schemas.apc import rules
from schemas.apc.decimals import plain, product
from streams.protocols.apc.processor.transfer import Standing, Transfer
from streams.protocols.apc.processor.windows import (
    FIRST_ENABLED,
    LATE,
    PHASE_MODES,
    PHASE_MULTIPLIER,
    PHASE_TOP_K,
    Window,
)

PASS, FAIL = "pass", "fail"
NOT_APPLICABLE, NOT_REACHED = "not_applicable", "not_reached"


class Outcome(NamedTuple):
    """How a check went; `left op right` is the comparison it made, if it made one."""

    outcome: str
    left: str | None = None
    op: str | None = None
    right: str | None = None


Check = Callable[[Transfer, Window, Standing], Outcome]

UNREACHED = Outcome(NOT_REACHED)
_OPEN = Outcome(NOT_APPLICABLE)
_PASSED = Outcome(PASS)
_FAILED = Outcome(FAIL)


def _compared(ok: bool, left: str, op: str, right: str) -> Outcome:
    return Outcome(PASS if ok else FAIL, left, op, right)


def _above(transfer: Transfer, factor: Decimal) -> Outcome:
    """Whether the sender's score is strictly above so many times the receiver's."""
    score, bound = transfer.sender_score, product(transfer.receiver_score, factor)
    return _compared(score > bound, plain(score), ">", plain(bound))


def _lineage_mismatch(transfer: Transfer, window: Window, standing: Standing) -> Outcome:
    left, right = transfer.lineage_protocol_id, transfer.protocol_id
    return _compared(left == right, left, "=", right)


def _generation_disabled(transfer: Transfer, window: Window, standing: Standing) -> Outcome:
    return _compared(window.enabled, str(transfer.generation), ">=", str(FIRST_ENABLED))


def _score_below_window(transfer: Transfer, window: Window, standing: Standing) -> Outcome:
    return _OPEN if window.multiplier is None else _above(transfer, window.multiplier)


def _top_k_missing(transfer: Transfer, window: Window, standing: Standing) -> Outcome:
    if window.top_k_limit is None:
        return _OPEN
    return _FAILED if transfer.top_k is None else _PASSED


def _top_k_over_limit(transfer: Transfer, window: Window, standing: Standing) -> Outcome:
    top_k, limit = transfer.top_k, window.top_k_limit
    if top_k is None or limit is None:
        return _OPEN
    return _compared(top_k <= limit, str(top_k), "<=", str(limit))


def _cross_use_case(transfer: Transfer, window: Window, standing: Standing) -> Outcome:
    if window.cross_use_case:
        return _PASSED
    crosses = transfer.cross_use_case
    return _compared(not crosses, "true" if crosses else "false", "=", "false")


def _phase_guard_score(transfer: Transfer, window: Window, standing: Standing) -> Outcome:
    return _above(transfer, PHASE_MULTIPLIER)


def _phase_guard_top_k(transfer: Transfer, window: Window, standing: Standing) -> Outcome:
    top_k = transfer.top_k
    if top_k is None:
        return _FAILED
    return _compared(top_k <= PHASE_TOP_K, str(top_k), "<=", str(PHASE_TOP_K))


def _phase_guard_mode(transfer: Transfer, window: Window, standing: Standing) -> Outcome:
    mode = transfer.mode
    return _compared(mode in PHASE_MODES, mode, "in", ", ".join(PHASE_MODES))


def _phase_guard_none(transfer: Transfer, window: Window, standing: Standing) -> Outcome:
    return _OPEN


def _min_generation(transfer: Transfer, window: Window, standing: Standing) -> Outcome:
    generation, least = transfer.generation, transfer.min_generation
    return _compared(generation >= least, str(generation), ">=", str(least))


def _threshold_multiplier(transfer: Transfer, window: Window, standing: Standing) -> Outcome:
    factor = transfer.threshold_multiplier
    return _OPEN if factor is None else _above(transfer, factor)


def _top_k_exhausted(transfer: Transfer, window: Window, standing: Standing) -> Outcome:
    top_k, receivers = transfer.top_k, standing.receivers
    if top_k is None:
        return _OPEN
    if transfer.to_swarm in receivers:
        return _PASSED
    return _compared(len(receivers) < top_k, str(len(receivers)), "<", str(top_k))


def _protocol_decayed(transfer: Transfer, window: Window, standing: Standing) -> Outcome:
    mode = standing.decay["mode"]
    if not standing.decay["blocked"] or mode == "flag":
        return _PASSED
    if mode == "always":
        return _FAILED
    return _compared(transfer.generation < LATE, str(transfer.generation), "<", str(LATE))


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
    """Checks 4 to 14 of a phase, in order."""
    return (*_BEFORE_GUARD, PHASE_GUARDS.get(run_phase, _NO_GUARD), *_AFTER_GUARD)


def message(
    code: str, found: Outcome, transfer: Transfer, window: Window, standing: Standing
) -> str:
    """Why a check failed, with its figures."""
    return _MESSAGES[code].format(
        found=found,
        transfer=transfer,
        window=window,
        receivers=", ".join(standing.receivers),
        decay=standing.decay,
        reasons=", ".join(standing.decay["reasons"]),
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
    "phase_guard_score": _NOT_ABOVE + str(PHASE_MULTIPLIER) + _TIMES,
    "phase_guard_top_k": f"{{transfer.run_phase}} wants a top_k of at most {PHASE_TOP_K}.",
    "phase_guard_mode": "{transfer.run_phase} allows {found.right}, not {found.left}.",
    "min_generation": "Generation {found.left} is below the policy's {found.right}.",
    "threshold_multiplier": _NOT_ABOVE + "{transfer.threshold_multiplier}" + _TIMES,
    "top_k_exhausted": "{receivers} received it already; top_k is {found.right}.",
    "protocol_decayed": "Protocol {transfer.protocol_id} has decayed ({reasons}): effectiveness "
    "{decay[effectiveness_score]} over {decay[transfer_count]} transfers.",
}
