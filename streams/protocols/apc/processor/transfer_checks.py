"""The checks of a TRANSFER: what is looked at, a function for each, and the order of making them.

What its generation and its run phase demand are two tables.  Every comparison is made on exact
decimals.  Nothing here reads a table of the processor: who received before, and whether the
protocol has decayed, is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from schemas.apc import rules
from schemas.decimals import dec, format_plain, product
from streams.engine.processor import AvroValue

PASS, FAIL = "pass", "fail"
NOT_APPLICABLE, NOT_REACHED = "not_applicable", "not_reached"


class Window(NamedTuple):
    """What is demanded of generations from `low` on, up to the next window.

    multiplier, top_k_limit: None where the window sets no such bound.  selector: a label; no
    packet is compared with it.
    """

    name: str
    low: int
    enabled: bool
    selector: str | None
    multiplier: Decimal | None
    top_k_limit: int | None
    cross_use_case: bool


WINDOWS: tuple[Window, ...] = (
    Window("generation_0_10", 0, False, None, None, None, False),
    Window("generation_11_20", 11, True, "SELECTIVE_IMPORT", Decimal("1.2"), 2, False),
    Window("generation_21_plus", 21, True, "WINNER_TO_LOSERS", None, 2, True),
)
FIRST_ENABLED = next(window.low for window in WINDOWS if window.enabled)
LATE = 21
"""The generation from which a decayed protocol is refused, unless the settings say otherwise."""

PHASE_MULTIPLIER = Decimal("1.2")
"""REFINEMENT: the sender's score must be above the receiver's by this factor."""
PHASE_TOP_K = 2
"""CONVERGENCE: the largest top_k."""
PHASE_MODES = ("WINNER_TO_LOSERS", "COMMONS_SEED")
"""PROMOTION: the modes allowed."""


def window_of(generation: int) -> Window:
    """The window of a generation (≥ 0)."""
    return next(window for window in reversed(WINDOWS) if window.low <= generation)


class Transfer(NamedTuple):
    """What the checks look at in a packet."""

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
    """What the checks look at besides: the receivers so far, and the protocol's figures.

    decay: {blocked, reasons, transfer_count, effectiveness_score, avg_drift_risk, mode,
    lineage_version}.
    """

    receivers: Sequence[str]
    decay: AvroValue


def transfer_of(packet: AvroValue) -> Transfer:
    """From the Avro value of a well-formed TRANSFER."""
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
    """How a check went; `left op right` is the comparison it made, if it made one."""

    outcome: str
    left: str | None = None
    op: str | None = None
    right: str | None = None


Check = Callable[[Transfer, Window, ThrottleState], Outcome]

UNREACHED = Outcome(NOT_REACHED)
_OPEN = Outcome(NOT_APPLICABLE)
_PASSED = Outcome(PASS)
_FAILED = Outcome(FAIL)


def _compared(ok: bool, left: str, op: str, right: str) -> Outcome:
    return Outcome(PASS if ok else FAIL, left, op, right)


def _above(transfer: Transfer, factor: Decimal) -> Outcome:
    """Whether the sender's score is strictly above so many times the receiver's."""
    score, bound = transfer.sender_score, product(transfer.receiver_score, factor)
    return _compared(score > bound, format_plain(score), ">", format_plain(bound))


def _lineage_mismatch(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    left, right = transfer.lineage_protocol_id, transfer.protocol_id
    return _compared(left == right, left, "=", right)


def _generation_disabled(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    return _compared(window.enabled, str(transfer.generation), ">=", str(FIRST_ENABLED))


def _score_below_window(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    return _OPEN if window.multiplier is None else _above(transfer, window.multiplier)


def _top_k_missing(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    if window.top_k_limit is None:
        return _OPEN
    return _FAILED if transfer.top_k is None else _PASSED


def _top_k_over_limit(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    top_k, limit = transfer.top_k, window.top_k_limit
    if top_k is None or limit is None:
        return _OPEN
    return _compared(top_k <= limit, str(top_k), "<=", str(limit))


def _cross_use_case(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    if window.cross_use_case:
        return _PASSED
    crosses = transfer.cross_use_case
    return _compared(not crosses, "true" if crosses else "false", "=", "false")


def _phase_guard_score(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    return _above(transfer, PHASE_MULTIPLIER)


def _phase_guard_top_k(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    top_k = transfer.top_k
    if top_k is None:
        return _FAILED
    return _compared(top_k <= PHASE_TOP_K, str(top_k), "<=", str(PHASE_TOP_K))


def _phase_guard_mode(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    mode = transfer.mode
    return _compared(mode in PHASE_MODES, mode, "in", ", ".join(PHASE_MODES))


def _phase_guard_none(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    return _OPEN


def _min_generation(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    generation, least = transfer.generation, transfer.min_generation
    return _compared(generation >= least, str(generation), ">=", str(least))


def _threshold_multiplier(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    factor = transfer.threshold_multiplier
    return _OPEN if factor is None else _above(transfer, factor)


def _top_k_exhausted(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    top_k, receivers = transfer.top_k, state.receivers
    if top_k is None:
        return _OPEN
    if transfer.to_swarm in receivers:
        return _PASSED
    return _compared(len(receivers) < top_k, str(len(receivers)), "<", str(top_k))


def _protocol_decayed(transfer: Transfer, window: Window, state: ThrottleState) -> Outcome:
    mode = state.decay["mode"]
    if not state.decay["blocked"] or mode == "flag":
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
    code: str, found: Outcome, transfer: Transfer, window: Window, state: ThrottleState
) -> str:
    """Why a check failed, with its figures."""
    return _MESSAGES[code].format(
        found=found,
        transfer=transfer,
        window=window,
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
    "phase_guard_score": _NOT_ABOVE + str(PHASE_MULTIPLIER) + _TIMES,
    "phase_guard_top_k": f"{{transfer.run_phase}} wants a top_k of at most {PHASE_TOP_K}.",
    "phase_guard_mode": "{transfer.run_phase} allows {found.right}, not {found.left}.",
    "min_generation": "Generation {found.left} is below the policy's {found.right}.",
    "threshold_multiplier": _NOT_ABOVE + "{transfer.threshold_multiplier}" + _TIMES,
    "top_k_exhausted": "{receivers} received it already; top_k is {found.right}.",
    "protocol_decayed": "Protocol {transfer.protocol_id} has decayed ({reasons}): effectiveness "
    "{decay[effectiveness_score]} over {decay[transfer_count]} transfers.",
}
