"""The decision on the transfers that an ARBITRATION names; it informs and moves nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.protocols.apc.processor.packets import (
    DECAYED,
    Bench,
    Json,
    ack,
    at,
    candidate,
    lineage_row,
    packet,
    pid,
    retraction,
    transfer,
)


def arbitration(n: int, one: list[int], two: list[int] | None = None, **members: Any) -> Json:
    """`one` wins."""
    candidates = [
        candidate("one", 0.9, *map(pid, one)),
        candidate("two", 0.4, *map(pid, two or [])),
    ]
    return packet("ARBITRATION", n, payload={"candidates": candidates}, **members)


def offered(n: int, score: float, protocol: str = "px", **members: Any) -> Json:
    """A TRANSFER whose selection score is `score` - 0.4 + 0.185."""
    payload = {"protocol_id": protocol}
    return transfer(n, generation=20 + n, scores=(score, 0.4), payload=payload, **members)


def decided(bench: Bench, made: Json) -> Json:
    (delta,) = [
        one for one in bench.deltas(bench.decide_json(made)) if one["kind"] == "arbitration"
    ]
    decision: Json = delta["decision"]
    assert decision["protocol_id"] == delta["protocol_id"]
    return decision


def bench_of(*transfers: Json, **settings: Any) -> Bench:
    bench = Bench(**settings)
    for made in transfers:
        assert bench.verdict(made)["verdict"] == "accepted"
    return bench


def test_the_decision_is_complete() -> None:
    bench = bench_of(offered(1, 0.8), offered(2, 0.9))
    made = arbitration(9, [1], [2], metadata={"project_id": "prj"})
    sent = bench.decide_json(made)
    (delta,) = bench.deltas(sent)
    assert delta["delta_id"] == "apc.packets/0/2/0/px/arbitration"
    assert not any(value for value in delta.values() if isinstance(value, int))
    ranking = [
        {
            "packet_id": pid(n),
            "to_swarm": "sw-b",
            "selector": "WINNER_TO_LOSERS",
            "selection_score": score,
            "sender_score": sender,
            "receiver_score": 0.4,
            "score_delta": gap,
            "recommended_accept": True,
        }
        for n, score, sender, gap in ((2, 0.685, 0.9, 0.5), (1, 0.585, 0.8, 0.4))
    ]
    assert delta["decision"] == {
        "decision_id": "apc.packets/0/2/0",
        "kind": "arbitration",
        "protocol_id": "px",
        "at": at(3),
        "cause": "apc.packets/0/2",
        "decay": None,
        "arbitration": {
            "session_id": "sess-01",
            "run_id": "run-01",
            "task_id": "task-01",
            "trace_id": "run-01",
            "project_id": "prj",
            "arbitration_id": "arb",
            "packet_id": pid(9),
            "candidate_count": 2,
            "validated_count": 2,
            "rejected_count": 0,
            "selected_count": 1,
            "blocked_count": 0,
            "decay_blocked_count": 0,
            "top_k": 1,
            "selected_packet_ids": [pid(2)],
            "blocked": [],
            "rejected": [],
            "ranking": ranking,
            "winner_candidate_id": "one",
            "winner_agrees": False,
        },
    }
    assert bench.state(1)["version"] == bench.state(2)["version"] == 1


@pytest.mark.parametrize(
    ("refs", "agrees"), [([2], True), ([1, 2], True), ([1], False), ([], False)]
)
def test_whether_the_winner_is_selected(refs: list[int], agrees: bool) -> None:
    bench = bench_of(offered(1, 0.8), offered(2, 0.9))
    decision = decided(bench, arbitration(9, refs, [1, 2]))
    assert decision["arbitration"]["winner_agrees"] is agrees


def test_every_reference_that_is_left_out_says_why() -> None:
    bench = bench_of(offered(1, 0.8), offered(2, 0.8), packet("IDEA", 3))
    bench.give(retraction(10, 2))
    bench.give(offered(4, 0.8, policy={"top_k": 3}))
    bench.give(offered(5, 0.8, confidence=2))
    asks: Json = {"routing": {"requires_ack": True, "ttl_ms": 50}, "to": ("a",)}
    bench.give(offered(6, 0.8, **asks))
    bench.give(ack(11, 6, "a", "REJECTED"))
    bench.give(offered(7, 0.8, **asks))
    bench.advance_to(bench.now + 60)
    bench.give(offered(8, 0.8, phase="RESEARCH"))
    arbitration_result = decided(bench, arbitration(9, [3, 77, 2, 1, 3], [4, 5, 6, 7, 8, 9]))[
        "arbitration"
    ]
    assert arbitration_result["rejected"] == [
        {"index": 1, "packet_id": pid(3), "reason": "packet_type_not_transfer:IDEA"},
        {"index": 2, "packet_id": pid(77), "reason": "packet_unknown"},
        {"index": 3, "packet_id": pid(2), "reason": "not_live:RETRACTED"},
        {"index": 6, "packet_id": pid(4), "reason": "policy_reject: top_k_over_limit"},
        {"index": 7, "packet_id": pid(5), "reason": "not_live:REJECTED_SCHEMA"},
        {"index": 8, "packet_id": pid(6), "reason": "policy_reject: recipient_refused"},
        {"index": 9, "packet_id": pid(7), "reason": "not_live:EXPIRED"},
        {"index": 10, "packet_id": pid(8), "reason": "policy_reject: phase_type"},
        {"index": 11, "packet_id": pid(9), "reason": "packet_unknown"},
    ]
    assert (
        arbitration_result["candidate_count"],
        arbitration_result["validated_count"],
        arbitration_result["rejected_count"],
    ) == (
        10,
        1,
        9,
    )
    assert arbitration_result["selected_packet_ids"] == [pid(1)]


def test_ties_keep_the_order_of_the_candidates() -> None:
    bench = bench_of(offered(1, 0.8), offered(2, 0.8), offered(3, 0.9), APC_ARBITRATION_TOP_K=2)
    arbitration_result = decided(bench, arbitration(9, [2, 1], [3, 2]))["arbitration"]
    assert [row["packet_id"] for row in arbitration_result["ranking"]] == [pid(3), pid(2), pid(1)]
    assert arbitration_result["selected_packet_ids"] == [pid(3), pid(2)]


def test_what_has_decayed_makes_room() -> None:
    bench = bench_of(offered(1, 0.9, "bad"), offered(2, 0.8), APC_DECAY_MODE="flag")
    bench.reads(lineage_row("bad", **DECAYED), lineage_row())
    fact = decided(bench, arbitration(9, [1], [2]))
    reason = "protocol_decay_blocked:bad:effectiveness_below_threshold+drift_unmeasured"
    blocked = [{"packet_id": pid(1), "protocol_id": "bad", "reason": reason}]
    decision = fact["arbitration"]
    assert decision["blocked"] == blocked
    assert (decision["blocked_count"], decision["decay_blocked_count"]) == (1, 1)
    assert decision["selected_packet_ids"] == [pid(2)]
    assert (fact["protocol_id"], decision["validated_count"]) == ("px", 2)


def test_what_fails_its_gate_leaves_its_place_empty() -> None:
    weak = {"transfers": 3, "accepted": 1, "outcome_weight": 3, "outcome_sum_nano": 3 * 10**9}
    bench = bench_of(offered(1, 0.9, "weak"), offered(2, 0.8))
    bench.reads(lineage_row("weak", **{**weak, "drift_weight": 0}), lineage_row())
    fact = decided(bench, arbitration(9, [1], [2]))
    # 0.5 × 1/3 + 0.35 × 1 + 0.15 × 0 = 0.51666…; not below 0.50
    assert fact["arbitration"]["selected_packet_ids"] == [pid(1)]
    bench = bench_of(offered(1, 0.9, "weak"), offered(2, 0.8))
    low = {**weak, "outcome_sum_nano": 2 * 10**9, "drift_weight": 0}
    bench.reads(lineage_row("weak", **low), lineage_row())
    fact = decided(bench, arbitration(9, [1], [2]))
    reason = "protocol_effectiveness_gate_blocked:weak:0.400"
    decision = fact["arbitration"]
    assert decision["blocked"] == [{"packet_id": pid(1), "protocol_id": "weak", "reason": reason}]
    assert (decision["blocked_count"], decision["decay_blocked_count"]) == (1, 0)
    assert (decision["selected_count"], decision["winner_agrees"]) == (0, False)
    assert fact["protocol_id"] == "weak"  # nothing is selected: that of the first ranked


def test_few_samples_pass_the_gate() -> None:
    bench = bench_of(offered(1, 0.9))
    bench.reads(lineage_row(transfers=2, accepted=0, outcome_weight=0, drift_weight=0))
    assert decided(bench, arbitration(9, [1]))["arbitration"]["selected_count"] == 1


def test_the_protocol_of_a_decision_that_ranks_nothing() -> None:
    bench = bench_of(offered(1, 0.9, "py"), offered(2, 0.9))
    bench.give(retraction(3, 1))
    bench.give(retraction(4, 2))
    fact = decided(bench, arbitration(9, [2], [1]))
    assert (fact["protocol_id"], fact["arbitration"]["ranking"]) == ("px", [])


@pytest.mark.parametrize("top_k", [0, 1, 5])
def test_how_many_are_selected(top_k: int) -> None:
    bench = bench_of(*(offered(n, 0.8) for n in (1, 2)), APC_ARBITRATION_TOP_K=top_k)
    arbitration_result = decided(bench, arbitration(9, [1, 2]))["arbitration"]
    assert (arbitration_result["top_k"], arbitration_result["selected_count"]) == (
        top_k,
        min(top_k, 2),
    )


@pytest.mark.parametrize(
    "made",
    [
        arbitration(9, [3, 77]),
        arbitration(9, [1], expires_at="2025-01-01T00:00:00Z"),
        arbitration(9, [1], session="sess-02"),
        arbitration(9, [1], run_phase="RESEARCH"),
        packet("DECISION", 9),
    ],
)
def test_what_leaves_no_decision(made: Json) -> None:
    bench = bench_of(offered(1, 0.8), packet("IDEA", 3))
    assert bench.deltas(bench.decide_json(made)) == []


def test_a_winner_that_is_no_candidate_is_refused() -> None:
    bench = bench_of(offered(1, 0.8))
    made = arbitration(9, [1])
    made["payload"]["winner_candidate_id"] = "three"
    fact = bench.verdict(made)
    assert (fact["rule"], fact["state"]) == ("unknown_winner", "REJECTED_POLICY")
    assert "one, two" in fact["message"]


def test_an_arbitration_with_lineage_counts_for_its_protocol_besides() -> None:
    bench = bench_of(offered(1, 0.8))
    made = arbitration(9, [1], lineage={"protocol_id": "py"})
    kinds = [delta["kind"] for delta in bench.deltas(bench.decide_json(made))]
    assert kinds == ["lineage", "arbitration"]
