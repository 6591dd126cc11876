"""The verdict on a TRANSFER and all the figures it records, worked out anew.

What cannot be known from the packets is which totals of its protocol a verdict has seen: these are
taken from the record, and `checker_lineage` says whether the protocol ever had them.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tests.e2e.outputs import Json

Checks = list[tuple[str, bool | None]]
"""Rules 4 to 14 in order: whether each holds, None where it is not asked."""

_COMPARISONS: dict[str, Callable[[str, str], bool]] = {
    ">": lambda left, right: Decimal(left) > Decimal(right),
    ">=": lambda left, right: Decimal(left) >= Decimal(right),
    "<": lambda left, right: Decimal(left) < Decimal(right),
    "<=": lambda left, right: Decimal(left) <= Decimal(right),
    "=": lambda left, right: left == right,
    "in": lambda left, right: left in right.split(", "),
}


def exact(number: float) -> Fraction:
    """The decimal that it is spelled as."""
    return Fraction(repr(number))


def six(number: Fraction) -> float:
    return float(round(number, 6))


def place_of(packet: Json) -> tuple[Any, ...]:
    """Whose receivers are counted together."""
    trace, payload = packet["trace"], packet["payload"]
    names = ("session_id", "run_id", "generation")
    return (*(trace[n] for n in names), payload["protocol_id"], payload["from_swarm"])


def checks(packet: Json, receivers: list[str], blocked: bool) -> Checks:
    payload, named, policy = packet["payload"], packet["lineage"], _policy(packet)
    generation, top_k = packet["trace"]["generation"], policy.get("top_k")
    middle, late = 11 <= generation <= 20, generation >= 21
    factor = policy.get("threshold_multiplier")
    places = None if top_k is None else len(receivers) < top_k or payload["to_swarm"] in receivers
    return [
        ("lineage_mismatch", named["protocol_id"] == payload["protocol_id"]),
        ("generation_disabled", middle or late),
        ("score_below_window", _above(payload, 1.2) if middle else None),
        ("top_k_missing", top_k is not None if middle or late else None),
        ("top_k_over_limit", None if top_k is None else top_k <= 2),
        ("cross_use_case_not_allowed", late or not named.get("cross_use_case", False)),
        _guard(packet),
        ("min_generation", generation >= policy["min_generation"]),
        ("threshold_multiplier", None if factor is None else _above(payload, factor)),
        ("top_k_exhausted", places),
        ("protocol_decayed", not (blocked and late)),
    ]


def _policy(packet: Json) -> Json:
    policy: Json = packet["payload"]["transfer_policy"]
    return policy


def _above(payload: Json, factor: float) -> bool:
    return exact(payload["sender_score"]) > exact(payload["receiver_score"]) * exact(factor)


def _guard(packet: Json) -> tuple[str, bool | None]:
    payload, policy = packet["payload"], _policy(packet)
    match packet["run_phase"]:
        case "REFINEMENT":
            return "phase_guard_score", _above(payload, 1.2)
        case "CONVERGENCE":
            return "phase_guard_top_k", policy.get("top_k", 99) <= 2
        case "PROMOTION":
            allowed = ("WINNER_TO_LOSERS", "COMMONS_SEED")
            return "phase_guard_mode", policy["mode"] in allowed
    return "phase_guard", None


def violated_rule(made: Checks) -> str | None:
    return next((rule for rule, holds in made if holds is False), None)


def throttle(packet: Json, receivers: list[str], decay: Json, lived: bool) -> Json:
    """The Throttle but for `checks`."""
    payload, policy = packet["payload"], _policy(packet)
    generation = packet["trace"]["generation"]
    window = (generation >= 11) + (generation >= 21)
    rule = violated_rule(checks(packet, receivers, decay["blocked"]))
    known, top_k = payload["to_swarm"] in receivers, policy.get("top_k")
    taken = len(receivers) + (rule is None and not known and lived)
    selector = (None, "SELECTIVE_IMPORT", "WINNER_TO_LOSERS")[window]
    return {
        "window": ("generation_0_10", "generation_11_20", "generation_21_plus")[window],
        "enabled": window > 0,
        "selector": selector,
        "run_phase": packet["run_phase"],
        "generation": generation,
        "sender_score": payload["sender_score"],
        "receiver_score": payload["receiver_score"],
        "multiplier": 1.2 if window == 1 else None,
        "required_above": _required(packet, window),
        "top_k": top_k,
        "top_k_limit": 2 if window else None,
        "mode": policy["mode"],
        "cross_use_case": packet["lineage"].get("cross_use_case", False),
        "min_generation": policy["min_generation"],
        "threshold_multiplier": policy.get("threshold_multiplier"),
        "to_swarm": payload["to_swarm"],
        "receivers_before": receivers,
        "already_received": known,
        "places_left": None if top_k is None else max(0, top_k - taken),
        "decay": decay,
        "decided_by": rule or "accepted",
        "selection": _selection(packet, selector),
    }


def _required(packet: Json, window: int) -> float | None:
    factors = [1.2] if window == 1 or packet["run_phase"] == "REFINEMENT" else []
    multiplier = _policy(packet).get("threshold_multiplier")
    if multiplier is not None:
        factors.append(multiplier)
    receiver = exact(packet["payload"]["receiver_score"])
    return six(receiver * max(map(exact, factors))) if factors else None


def _selection(packet: Json, selector: str | None) -> Json:
    payload = packet["payload"]
    delta = exact(payload["sender_score"]) - exact(payload["receiver_score"])
    score = max(Fraction(0), delta) + exact(packet["confidence"]) / 4
    score += Fraction(packet["lineage"].get("cross_use_case", False), 20)
    return {
        "selector": selector or "phase_guard_only",
        "selection_score": six(score),
        "score_delta": six(delta),
        "recommended_accept": score > 0 and delta > 0,
    }


def differences(packet: Json, receivers: list[str], recorded: Json, lived: bool) -> list[str]:
    """What in a recorded Throttle does not follow."""
    derived = throttle(packet, receivers, recorded["decay"], lived)
    problems = [
        f"throttle.{name} is {recorded[name]}, not {member}"
        for name, member in derived.items()
        if recorded[name] != member
    ]
    made = checks(packet, receivers, recorded["decay"]["blocked"])
    if [c["outcome"] for c in recorded["checks"]] != _outcomes(made):
        problems.append(f"its checks are not {_outcomes(made)}")
    if [c["rule"] for c in recorded["checks"]] != [rule for rule, _ in made]:
        problems.append("its checks have other names")
    for check in recorded["checks"]:
        if check["op"] is not None:
            holds = _COMPARISONS[check["op"]](check["left"], check["right"])
            if holds is not (check["outcome"] == "pass"):
                problems.append(f"{check['rule']} does not follow from its figures")
    return problems


def _outcomes(made: Checks) -> list[str]:
    rules = [rule for rule, _ in made]
    failed = violated_rule(made)
    reached = len(rules) if failed is None else rules.index(failed) + 1
    words = {True: "pass", False: "fail", None: "not_applicable"}
    return [words[holds] for _, holds in made[:reached]] + ["not_reached"] * (len(rules) - reached)
