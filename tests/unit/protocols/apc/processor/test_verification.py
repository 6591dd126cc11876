"""Verification at once or deferred, the gates, and who is promoted."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.decimals import dec
from streams.protocols.apc.policy_values import ApcPolicy
from streams.protocols.apc.processor.verification import check_gates
from streams.settings import Settings
from tests.unit.protocols.apc.processor.packets import (
    PASSING,
    PHASE_OF,
    THRESHOLDS,
    Bench,
    Json,
    ack,
    candidate,
    deferred,
    evaluation,
    events,
    packet,
    pid,
    retraction,
)
from topology.apc import APC_TASK_FACTS

GATES = ApcPolicy.of(Settings().as_work()).gates
ARCHIVED = ["verification_pass", "non_promotable_complete"]
PROMOTED = ["verification_pass", "promotion_eligible", "persisted"]
SUPERSEDED = ["higher_conflict_resolution_arrived", "supersession_recorded"]

MODES: list[Json] = [{"verification": mode} for mode in ("immediate", "deferred")]


def arbitration(n: int, winner: str, **refs: tuple[int, ...]) -> Json:
    candidates = [candidate(name, 0.5, *map(pid, of)) for name, of in refs.items()]
    payload = {"winner_candidate_id": winner, "candidates": candidates}
    return packet("ARBITRATION", n, payload=payload)


def test_a_deferred_packet_waits_without_a_limit() -> None:
    bench = Bench()
    (fact,) = bench.give(deferred(1), 0)
    assert fact["state"] == "APPLIED"
    assert fact["verification"] == {"mode": "deferred", "outcome": None, "by": None}
    assert bench.timers == {}
    assert bench.state(1)["packet"] is not None


@pytest.mark.parametrize(
    ("ok", "rule", "state", "way"),
    [
        (True, "verified", "ARCHIVED", ARCHIVED),
        (False, "evaluated_fail", "REJECTED_POLICY", ["verification_fail"]),
    ],
)
def test_an_eval_decides(ok: bool, rule: str, state: str, way: list[str]) -> None:
    bench = Bench()
    bench.give(deferred(1), 0)
    _, effect = bench.give(evaluation(2, 1, ok=ok), 1)
    assert (effect["rule"], effect["state"]) == (rule, state)
    assert events(effect["transitions"]) == way
    outcome = "pass" if ok else "fail"
    assert effect["verification"] == {"mode": "deferred", "outcome": outcome, "by": pid(2)}
    row = bench.state(1)
    assert (row["rule"], row["counted"], row["packet"]) == (rule, ok, None)


@pytest.mark.parametrize("packet_type", PHASE_OF)
@pytest.mark.parametrize("metadata", [{}, *MODES])
def test_a_type_of_the_policy_is_deferred_whatever_its_metadata_say(
    packet_type: str, metadata: Json
) -> None:
    for types, mode in ((packet_type, "deferred"), ("", metadata.get("verification"))):
        bench = Bench(APC_VERIFICATION_DEFERRED_TYPES=types)
        bench.give(packet("IDEA", 1, to=("builder-1",)))
        fact = bench.verdict(packet(packet_type, 2, metadata=metadata))
        expected = {"mode": mode or "immediate", "outcome": None, "by": None}
        assert (fact["verdict"], fact["verification"]) == ("accepted", expected)
        assert (fact["state"] == "APPLIED") is (mode == "deferred")


def test_an_eval_verifies_a_packet_of_a_deferred_type() -> None:
    bench = Bench(APC_VERIFICATION_DEFERRED_TYPES="CLAIM,IDEA")
    assert bench.verdict(packet("IDEA", 1))["state"] == "APPLIED"
    _, effect = bench.give(evaluation(2, 1))
    assert (effect["rule"], effect["state"]) == ("verified", "ARCHIVED")
    assert effect["verification"] == {"mode": "deferred", "outcome": "pass", "by": pid(2)}


def test_an_arbitration_decides_for_winners_and_losers() -> None:
    bench = Bench()
    for n in (1, 2, 3, 4):
        bench.give(deferred(n))
    verdict, *effects = bench.give(arbitration(9, "b", a=(1, 3), b=(2, 3), c=(4, 1)))
    assert verdict["warnings"] == []
    assert [(e["packet_id"], e["rule"]) for e in effects] == [
        (pid(1), "superseded"),
        (pid(3), "verified"),
        (pid(2), "verified"),
        (pid(4), "superseded"),
    ]
    assert events(effects[0]["transitions"]) == SUPERSEDED
    assert effects[0]["state"] == "ARCHIVED"
    assert bench.state(1)["counted"] is True
    assert bench.state(1)["verification"]["outcome"] == "superseded"


def test_an_outcome_that_comes_early_is_kept_and_the_latest_wins() -> None:
    bench = Bench()
    bench.give(deferred(1, to=("a",), routing={"requires_ack": True}))
    _, effect = bench.give(evaluation(2, 1))
    assert (effect["rule"], effect["state"], effect["transitions"]) == (
        "outcome_kept",
        "ROUTED",
        [],
    )
    assert effect["verification"] == {"mode": "deferred", "outcome": "pass", "by": pid(2)}
    assert bench.state(1)["rule"] == "accepted"
    bench.give(evaluation(3, 1, ok=False))
    _, effect = bench.give(ack(4, 1, "a"))
    assert (effect["rule"], effect["state"]) == ("delivered", "REJECTED_POLICY")
    assert events(effect["transitions"]) == ["delivery_ack", "consumer_apply", "verification_fail"]
    assert effect["verification"] == {"mode": "deferred", "outcome": "fail", "by": pid(3)}
    assert bench.state(1)["counted"] is False


@pytest.mark.parametrize(("winner", "way"), [("one", ARCHIVED), ("two", SUPERSEDED)])
def test_a_kept_outcome_of_an_arbitration(winner: str, way: list[str]) -> None:
    bench = Bench()
    bench.give(deferred(1, to=("a",), routing={"requires_ack": True}))
    bench.give(arbitration(2, winner, one=(1,), two=()))
    _, effect = bench.give(ack(4, 1, "a"))
    assert events(effect["transitions"]) == ["delivery_ack", "consumer_apply", *way]


def test_packets_that_are_not_deferred_are_not_touched() -> None:
    bench = Bench()
    bench.give(packet("IDEA", 1))
    bench.give(packet("IDEA", 2, routing={"requires_ack": True}))
    bench.give(packet("IDEA", 3, metadata={"verification": "immediate"}))
    (fact,) = bench.give(evaluation(9, 1, 2, 3, ok=False))
    assert fact["warnings"] == []


def test_packets_past_applied_are_not_touched() -> None:
    bench = Bench()
    bench.give(deferred(1))
    bench.give(evaluation(2, 1))
    facts = bench.give(evaluation(3, 1, ok=False))
    assert len(facts) == 1
    assert bench.state(1)["state"] == "ARCHIVED"


@pytest.mark.parametrize("made", [evaluation(2, 1, 77), arbitration(2, "a", a=(1, 77), b=())])
def test_unknown_references_are_warned_of(made: Json) -> None:
    bench = Bench()
    bench.give(deferred(1))
    verdict, effect = bench.give(made)
    assert verdict["warnings"] == ["verification_target_unknown"]
    assert effect["packet_id"] == pid(1)


def test_a_packet_does_not_verify_itself() -> None:
    bench = Bench()
    made = evaluation(2, 2, metadata={"verification": "deferred"})
    (fact,) = bench.give(made)
    assert (fact["state"], fact["warnings"]) == ("APPLIED", ["verification_target_unknown"])


def test_other_evidence_is_no_reference() -> None:
    bench = Bench()
    bench.give(deferred(1))
    refs = [pid(1), f"log:{pid(1)}", f"PACKET:{pid(1)}"]
    made = packet("EVAL", 2, proof_bundle={"evidence_refs": refs})
    (fact,) = bench.give(made)
    assert fact["warnings"] == []
    assert bench.state(1)["state"] == "APPLIED"


def test_references_in_upper_case_and_repeated() -> None:
    bench = Bench()
    bench.give(deferred(1))
    refs = [f"packet:{pid(1).upper()}", f"packet:{pid(1)}"]
    facts = bench.give(packet("EVAL", 2, proof_bundle={"evidence_refs": refs}))
    assert [f["verdict"] for f in facts] == ["accepted", "effect"]
    assert facts[0]["packet"]["proof_bundle"]["evidence_refs"][0] == f"packet:{pid(1)}"


def test_references_of_an_arbitration_in_upper_case() -> None:
    bench = Bench()
    bench.give(deferred(1))
    made = arbitration(2, "a", a=(1,), b=())
    made["payload"]["candidates"][0]["packet_ref_ids"] = [pid(1).upper()]
    verdict, effect = bench.give(made)
    assert verdict["packet"] == arbitration(2, "a", a=(1,), b=())
    assert effect["rule"] == "verified"


def test_a_refused_eval_decides_nothing() -> None:
    bench = Bench()
    bench.give(deferred(1))
    bench.give(evaluation(2, 1, run_phase="RESEARCH"))
    assert bench.state(1)["state"] == "APPLIED"


def test_other_sessions_are_not_verified() -> None:
    bench = Bench()
    bench.give(deferred(1))
    (fact,) = bench.give(evaluation(2, 1, session="sess-02"))
    assert fact["warnings"] == ["verification_target_unknown"]


# Just below and at each bound, as decimals: 0.1 + 0.2 is not 0.3.
BOUNDS: list[tuple[str, Any, bool]] = [
    ("rtf", 1, True),
    ("rtf", 0.9999999999999999, False),
    ("stability", 0.9, True),
    ("stability", 0.8999999999999999, False),
    ("audit", 1.0, True),
    ("audit", 0.99, False),
    ("outcome", 0.5, True),
    ("outcome", 0.49999999999999994, False),
    ("learnability", 0.7, True),
    ("learnability", 0.6999999999999998, False),
    ("generalization_ratio", 0.8, True),
    ("generalization_ratio", 0.7999999999999999, False),
    ("drift_risk", 0.3, True),
    ("drift_risk", 0.30000000000000004, False),
    ("drift_risk", 0, True),
]


@pytest.mark.parametrize(("metric", "value", "met"), BOUNDS)
def test_gates_at_their_bounds(metric: str, value: float, met: bool) -> None:
    bench = Bench()
    payload = {"metric_set": {**PASSING, metric: value}, "thresholds": {**THRESHOLDS, "rtf": 0}}
    fact = bench.verdict(packet("EVAL", 1, payload=payload))
    assert fact["gates"]["met"] is met
    (check,) = [c for c in fact["gates"]["checks"] if c["metric"] == metric]
    assert (check["value"], check["ok"]) == (value, met)
    assert events(fact["transitions"])[7:] == (PROMOTED if met else ARCHIVED)
    assert fact["state"] == "ARCHIVED"
    assert bench.state(1)["gates"]["met"] is met


def test_gates_compare_decimals() -> None:
    for metric, value, met in BOUNDS:
        bound = next(gate.threshold for gate in GATES if gate.metric == metric)
        exact = dec(value) <= dec(bound) if metric == "drift_risk" else dec(value) >= dec(bound)
        assert exact is met


def test_gates_are_shown_in_order() -> None:
    metrics = {name: value for name, value in PASSING.items() if name != "drift_risk"}
    verification = check_gates(metrics, GATES)
    assert [c["metric"] for c in verification["checks"]] == list(PASSING)
    assert verification["met"] is False
    assert verification["checks"][-1] == {
        "metric": "drift_risk",
        "value": None,
        "used": 1.0,
        "op": "<=",
        "threshold": 0.3,
        "ok": False,
    }
    assert verification["checks"][0] == {
        "metric": "rtf",
        "value": 1.0,
        "used": 1.0,
        "op": ">=",
        "threshold": 1.0,
        "ok": True,
    }


def test_another_missing_metric_fails() -> None:
    verification = check_gates({**PASSING, "audit": None}, GATES)
    assert (verification["met"], verification["checks"][2]["used"]) == (False, None)


def promoted(bench: Bench, made: Json) -> bool:
    return "promotion_eligible" in events(bench.verdict(made)["transitions"])


def test_a_decision_is_promoted_on_the_newest_eval_of_its_task() -> None:
    bench = Bench()
    assert not promoted(bench, packet("DECISION", 1))
    bench.give(evaluation(2))
    assert promoted(bench, packet("DECISION", 3))
    bench.give(evaluation(4, payload={"metric_set": {**PASSING, "outcome": 0.1}}))
    assert not promoted(bench, packet("DECISION", 5))
    bench.give(retraction(6, 4))
    assert promoted(bench, packet("DECISION", 7))
    elsewhere = packet("DECISION", 8)
    elsewhere["trace"]["task_id"] = "task-02"
    assert not promoted(bench, elsewhere)
    assert not promoted(bench, packet("DECISION", 9, session="sess-02"))


def test_other_types_are_never_promoted() -> None:
    bench = Bench()
    bench.give(evaluation(1))
    assert not promoted(bench, packet("ARTIFACT", 2))


def test_the_history_of_a_promoted_packet() -> None:
    fact = Bench().verdict(evaluation(1))
    assert len(fact["transitions"]) == 10


def test_a_deferred_decision_is_promoted_by_the_eval_that_verifies_it() -> None:
    bench = Bench()
    bench.give(deferred(1, "DECISION"))
    _, effect = bench.give(evaluation(2, 1))
    assert events(effect["transitions"]) == PROMOTED


def test_a_deferred_eval_keeps_its_gates() -> None:
    bench = Bench()
    bench.give(evaluation(1, metadata={"verification": "deferred"}))
    _, effect = bench.give(evaluation(2, 1))
    assert events(effect["transitions"]) == PROMOTED
    assert effect["gates"]["met"] is True


def test_a_deferred_eval_that_fails_is_counted_no_more() -> None:
    bench = Bench()
    bench.give(evaluation(1, metadata={"verification": "deferred"}))
    bench.give(evaluation(2, 1, ok=False))
    (task,) = bench.tables["apc-tasks"]
    row = bench.row(APC_TASK_FACTS, task)
    assert row is not None
    assert row["evals"] == [
        {
            "packet_id": pid(2),
            "outcome_nano": 500_000_000,
            "drift_nano": 300_000_000,
            "gates_met": True,
        }
    ]
