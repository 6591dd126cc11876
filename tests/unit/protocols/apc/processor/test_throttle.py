"""The checks of a TRANSFER: windows, phases, guards, scores at their bounds."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.protocols.apc.policy_values import TransferBounds
from tests.unit.protocols.apc.processor.packets import DECAYED, Bench, Json, lineage_row, transfer

ORDER = [
    "lineage_mismatch",
    "generation_disabled",
    "score_below_window",
    "top_k_missing",
    "top_k_over_limit",
    "cross_use_case_not_allowed",
    "phase_guard",
    "min_generation",
    "threshold_multiplier",
    "top_k_exhausted",
    "protocol_decayed",
]
GUARDS = {
    "REFINEMENT": "phase_guard_score",
    "CONVERGENCE": "phase_guard_top_k",
    "PROMOTION": "phase_guard_mode",
}
# window, first and last generation, enabled, selector, multiplier, top_k limit, cross use case
WINDOWS: list[tuple[str, int, int, bool, str | None, str | None, int | None, bool]] = [
    ("generation_0_10", 0, 10, False, None, None, None, False),
    ("generation_11_20", 11, 20, True, "SELECTIVE_IMPORT", "1.2", 2, False),
    ("generation_21_plus", 21, 10**6, True, "WINNER_TO_LOSERS", None, 2, True),
]
PHASES = ("REFINEMENT", "CONVERGENCE", "PROMOTION")
SCORES = [(0.84, 0.7), (0.85, 0.7), (0.7, 0.7), (0.71, 0.7), (0.0, 0.0), (1.0, 0.0), (0.5, 0.9)]
TOP_KS = (None, 1, 2, 3)


def exact(number: float | str) -> Fraction:
    """The decimal that a number of a packet is spelled as."""
    return Fraction(str(number))


def expected(made: Json) -> str:
    """The rule that decides a TRANSFER without standing, worked out from the protocol's tables."""
    payload, lineage = made["payload"], made["lineage"]
    policy, generation = payload["transfer_policy"], made["trace"]["generation"]
    sender, receiver = exact(payload["sender_score"]), exact(payload["receiver_score"])
    top_k, threshold = policy.get("top_k"), policy.get("threshold_multiplier")
    (window,) = (w for w in WINDOWS if w[1] <= generation <= w[2])
    _, _, _, enabled, _, multiplier, limit, cross = window
    phase = made["run_phase"]
    rules = [
        ("lineage_mismatch", lineage["protocol_id"] != payload["protocol_id"]),
        ("generation_disabled", not enabled),
        ("score_below_window", multiplier and not sender > receiver * exact(multiplier)),
        ("top_k_missing", limit and top_k is None),
        ("top_k_over_limit", limit and top_k and top_k > limit),
        ("cross_use_case_not_allowed", lineage.get("cross_use_case") and not cross),
        ("phase_guard_score", phase == "REFINEMENT" and not sender > receiver * exact("1.2")),
        ("phase_guard_top_k", phase == "CONVERGENCE" and (top_k or 3) > 2),
        (
            "phase_guard_mode",
            phase == "PROMOTION" and policy["mode"] not in ("WINNER_TO_LOSERS", "COMMONS_SEED"),
        ),
        ("min_generation", generation < policy["min_generation"]),
        ("threshold_multiplier", threshold and not sender > receiver * exact(threshold)),
    ]
    return next((rule for rule, breaks in rules if breaks), "accepted")


def checked(fact: Json) -> dict[str, str]:
    return {check["rule"]: check["outcome"] for check in fact["throttle"]["checks"]}


def compared(fact: Json, rule: str) -> tuple[str | None, str | None, str | None]:
    (check,) = (check for check in fact["throttle"]["checks"] if check["rule"] == rule)
    return check["left"], check["op"], check["right"]


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("generation", [0, 10, 11, 20, 21, 400])
def test_windows_phases_and_scores_at_their_bounds(generation: int, phase: str) -> None:
    cases = product(SCORES, TOP_KS, (False, True), ("SELECTIVE_IMPORT", "COMMONS_SEED"))
    for scores, top_k, cross, mode in cases:
        made = transfer(
            1,
            generation=generation,
            phase=phase,
            scores=scores,
            policy={"top_k": top_k, "mode": mode},
            lineage={"cross_use_case": cross},
        )
        fact = Bench().verdict(made)
        rule = expected(made)
        assert fact["rule"] == rule, made
        assert fact["throttle"]["decided_by"] == rule
        _the_record_is_whole(fact, made)


def _the_record_is_whole(fact: Json, made: Json) -> None:
    throttle, rule = fact["throttle"], fact["rule"]
    (window,) = (w for w in WINDOWS if w[0] == throttle["window"])
    assert window[1] <= throttle["generation"] <= window[2]
    assert (throttle["enabled"], throttle["selector"]) == (window[3], window[4])
    assert throttle["multiplier"] == (None if window[5] is None else float(window[5]))
    assert throttle["top_k_limit"] == window[6]
    order = [GUARDS[made["run_phase"]] if code == "phase_guard" else code for code in ORDER]
    outcomes = checked(fact)
    assert list(outcomes) == order
    if rule == "accepted":
        assert set(outcomes.values()) <= {"pass", "not_applicable"}
    else:
        at = order.index(rule)
        assert outcomes[rule] == "fail"
        assert set(list(outcomes.values())[:at]) <= {"pass", "not_applicable"}
        assert set(list(outcomes.values())[at + 1 :]) <= {"not_reached"}
    for check in throttle["checks"]:
        if check["op"] == ">":
            holds = Fraction(check["left"]) > Fraction(check["right"])
            assert holds is (check["outcome"] == "pass")


def test_the_worked_example() -> None:
    bench = Bench()
    members: Json = {"scores": (0.85, 0.7), "confidence": 0.64}
    fact = bench.verdict(transfer(1, **members))
    throttle = fact["throttle"]
    assert (throttle["window"], throttle["required_above"]) == ("generation_11_20", 0.84)
    assert compared(fact, "score_below_window") == ("0.85", ">", "0.84")
    assert (throttle["places_left"], throttle["receivers_before"]) == (1, [])
    assert throttle["selection"] == {
        "selector": "SELECTIVE_IMPORT",
        "selection_score": 0.31,
        "score_delta": 0.15,
        "recommended_accept": True,
    }
    fact = bench.verdict(transfer(2, scores=(0.84, 0.7)))
    assert (fact["rule"], fact["fault"]) == ("score_below_window", "sender")
    assert compared(fact, "score_below_window") == ("0.84", ">", "0.84")
    fact = bench.verdict(transfer(3, policy={"threshold_multiplier": 1.25}, scores=(0.85, 0.7)))
    assert fact["rule"] == "threshold_multiplier"
    assert compared(fact, "threshold_multiplier") == ("0.85", ">", "0.875")
    assert fact["throttle"]["required_above"] == 0.875
    fact = bench.verdict(transfer(4, "sw-c", **members))
    assert (fact["throttle"]["places_left"], fact["throttle"]["receivers_before"]) == (0, ["sw-b"])
    fact = bench.verdict(transfer(5, "sw-d", **members))
    assert (fact["rule"], compared(fact, "top_k_exhausted")) == ("top_k_exhausted", ("2", "<", "2"))
    assert fact["throttle"]["places_left"] == 0
    fact = bench.verdict(transfer(6, **members))
    assert (fact["verdict"], fact["throttle"]["already_received"]) == ("accepted", True)
    assert bench.verdict(transfer(7, "sw-d", generation=15, **members))["verdict"] == "accepted"


@pytest.mark.parametrize(
    ("made", "rule", "comparison"),
    [
        (transfer(1, lineage={"protocol_id": "py"}), "lineage_mismatch", ("py", "=", "px")),
        (transfer(1, generation=10), "generation_disabled", ("10", ">=", "11")),
        (transfer(1, policy={"top_k": None}), "top_k_missing", (None, None, None)),
        (transfer(1, policy={"top_k": 3}), "top_k_over_limit", ("3", "<=", "2")),
        (
            transfer(1, lineage={"cross_use_case": True}),
            "cross_use_case_not_allowed",
            ("true", "=", "false"),
        ),
        (
            transfer(1, generation=21, scores=(0.84, 0.7)),
            "phase_guard_score",
            ("0.84", ">", "0.84"),
        ),
        (
            transfer(1, phase="PROMOTION", policy={"mode": "SELECTIVE_IMPORT"}),
            "phase_guard_mode",
            ("SELECTIVE_IMPORT", "in", "WINNER_TO_LOSERS, COMMONS_SEED"),
        ),
        (transfer(1, policy={"min_generation": 15}), "min_generation", ("14", ">=", "15")),
        (
            transfer(1, generation=21, phase="CONVERGENCE", policy={"threshold_multiplier": 3}),
            "threshold_multiplier",
            ("0.9", ">", "1.2"),
        ),
    ],
)
def test_each_rule_with_the_comparison_it_made(
    made: Json, rule: str, comparison: tuple[str | None, ...]
) -> None:
    bench = Bench()
    fact = bench.verdict(made)
    assert (fact["verdict"], fact["rule"], fact["state"]) == ("rejected", rule, "REJECTED_POLICY")
    assert compared(fact, rule) == comparison
    assert fact["message"].endswith(".")
    (row,) = bench.rows_of_throttling().values()
    assert (row["rejected"], row["accepted"], row["receivers"]) == ({rule: 1}, 0, [])
    assert row["protocol_id"] == "px"
    assert bench.deltas() == []


def test_a_packet_refused_before_has_no_record() -> None:
    bench = Bench()
    assert bench.verdict(transfer(1, phase="RESEARCH"))["throttle"] is None
    failed = {"anti_drift": {"ci_verifiable": False}}
    assert bench.verdict(transfer(2, metadata=failed))["throttle"] is None
    assert bench.verdict(transfer(3, confidence=2))["throttle"] is None
    assert bench.rows_of_throttling() == {}
    assert bench.state(1)["transfer"]["selection"] is None


def test_decimals_are_those_of_the_spelling_and_shown_unrounded() -> None:
    fact = Bench().verdict(transfer(1, scores=(0.1234567890123456, 0.1028806575102880)))
    assert compared(fact, "score_below_window") == (
        "0.1234567890123456",
        ">",
        "0.1234567890123456",
    )
    assert fact["throttle"]["required_above"] == 0.123457
    assert fact["rule"] == "score_below_window"
    fact = Bench().verdict(transfer(1, scores=(1, 5e-324)))
    assert compared(fact, "score_below_window")[2] == "0." + "0" * 323 + "6"


@given(
    st.floats(0, 1),
    st.floats(0, 1),
    st.sampled_from([None, 1, 1.1, 1.2, 1.25, 3]) | st.floats(1, 3),
    st.sampled_from([14, 21]),
    st.sampled_from(PHASES),
)
def test_comparisons_are_those_of_exact_fractions(
    sender: float, receiver: float, threshold: float | None, generation: int, phase: str
) -> None:
    made = transfer(
        1,
        scores=(sender, receiver),
        generation=generation,
        phase=phase,
        policy={"threshold_multiplier": threshold},
    )
    fact = Bench().verdict(made)
    assert fact["rule"] == expected(made)
    _the_record_is_whole(fact, made)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.booleans())
def test_selection_is_exact(sender: float, receiver: float, confidence: float, cross: bool) -> None:
    made = transfer(
        1,
        scores=(sender, receiver),
        generation=21,
        phase="CONVERGENCE",
        confidence=confidence,
        lineage={"cross_use_case": cross},
    )
    delta = exact(repr(sender)) - exact(repr(receiver))
    score = (
        max(Fraction(0), delta) + exact(repr(confidence)) / 4 + (Fraction(1, 20) if cross else 0)
    )
    rounded = Fraction(round(score * 10**6), 10**6)
    assert Bench().verdict(made)["throttle"]["selection"] == {
        "selector": "WINNER_TO_LOSERS",
        "selection_score": float(rounded),
        "score_delta": float(Fraction(round(delta * 10**6), 10**6)),
        "recommended_accept": rounded > 0 and delta > 0,
    }


def test_a_window_without_a_selector_has_a_label_of_its_own() -> None:
    fact = Bench().verdict(transfer(1, generation=3))
    assert fact["throttle"]["selection"]["selector"] == "phase_guard_only"


# setting, generation → refused
DECAY = [
    ("late", 20, False),
    ("late", 21, True),
    ("always", 11, True),
    ("always", 21, True),
    ("flag", 21, False),
]


@pytest.mark.parametrize(("mode", "generation", "refused"), DECAY)
def test_a_decayed_protocol(mode: str, generation: int, refused: bool) -> None:
    bench = Bench(APC_DECAY_MODE=mode)
    bench.reads(lineage_row(**DECAYED))
    fact = bench.verdict(transfer(1, generation=generation))
    assert (fact["rule"] == "protocol_decayed") is refused
    assert fact["warnings"] == ([] if refused else ["protocol_decayed"])
    assert fact["throttle"]["decay"] == {
        "blocked": True,
        "reasons": ["effectiveness_below_threshold", "drift_unmeasured"],
        "transfer_count": 6,
        "effectiveness_score": 0.25,
        "avg_drift_risk": None,
        "mode": mode,
        "lineage_version": 7,
    }
    assert checked(fact)["protocol_decayed"] == ("fail" if refused else "pass")


def test_a_protocol_never_seen_or_doing_well_is_not_decayed() -> None:
    bench = Bench()
    decay = bench.verdict(transfer(1, generation=21))["throttle"]["decay"]
    assert (decay["blocked"], decay["transfer_count"], decay["lineage_version"]) == (False, 0, 0)
    bench.reads(lineage_row(), lineage_row("other", **DECAYED))
    fact = bench.verdict(transfer(2, generation=21))
    assert (fact["rule"], fact["warnings"]) == ("accepted", [])
    assert fact["throttle"]["decay"]["lineage_version"] == 7


def test_a_packet_that_other_rules_refuse_is_not_flagged() -> None:
    bench = Bench(APC_DECAY_MODE="flag")
    bench.reads(lineage_row(**DECAYED))
    assert bench.verdict(transfer(1, policy={"top_k": 3}))["warnings"] == []


def test_the_row_and_the_history_carry_the_selection() -> None:
    bench = Bench()
    fact = bench.verdict(transfer(1, lineage={"cross_use_case": False}, payload={"accepted": True}))
    chosen = fact["throttle"]["selection"]
    carried: dict[str, Any] = {t["event"]: t["metadata"] for t in fact["transitions"]}
    assert carried.pop("policy_pass") == chosen
    assert set(carried.values()) == {None}
    assert bench.state(1)["transfer"] == {
        "protocol_id": "px",
        "to_swarm": "sw-b",
        "sender_score": 0.9,
        "receiver_score": 0.4,
        "accepted": True,
        "cross_use_case": False,
        "selection": chosen,
    }


@pytest.mark.parametrize(("top_k", "rule"), [(None, "phase_guard_top_k"), (3, "phase_guard_top_k")])
def test_the_guard_of_convergence_stands_where_a_window_sets_no_limit(
    top_k: int | None, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    window_of = TransferBounds.window_of
    monkeypatch.setattr(
        TransferBounds,
        "window_of",
        lambda bounds, generation: window_of(bounds, 21)._replace(top_k_limit=None),
    )
    bench = Bench()
    fact = bench.verdict(transfer(1, phase="CONVERGENCE", policy={"top_k": top_k}))
    assert (fact["rule"], checked(fact)["top_k_missing"]) == (rule, "not_applicable")
    assert bench.verdict(transfer(2, phase="CONVERGENCE"))["verdict"] == "accepted"
    fact = bench.verdict(transfer(3, "sw-q", phase="REFINEMENT", policy={"top_k": None}))
    assert (fact["verdict"], fact["throttle"]["places_left"]) == ("accepted", None)
    assert checked(fact)["top_k_exhausted"] == "not_applicable"
