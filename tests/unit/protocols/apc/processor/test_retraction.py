"""Retraction: from every state, who is told, and what is taken back."""

from __future__ import annotations

import pytest

from tests.unit.processing.harness import START_MS
from tests.unit.protocols.apc.processor.packets import (
    Bench,
    ack,
    deferred,
    evaluation,
    events,
    packet,
    pid,
    retraction,
    waiting,
)


def bench_with(state: str) -> Bench:
    """Packet 1, to `a` and `b`, in the state named."""
    bench = Bench()
    to = ("a", "b")
    match state:
        case "ROUTED":
            bench.give(waiting(1, to=to, ack_timeout_ms=4_000), 0)
        case "APPLIED":
            bench.give(deferred(1, to=to), 0)
        case "ARCHIVED":
            bench.give(packet("IDEA", 1, to=to), 0)
        case "EXPIRED":
            bench.give(waiting(1, to=to, ttl_ms=1), 0)
            bench.advance_to(START_MS + 1)
        case "EXPIRED on arrival":
            bench.give(packet("IDEA", 1, to=to, expires_at="2025-01-01T00:00:00Z"), 0)
        case "REJECTED_POLICY":
            bench.give(packet("IDEA", 1, to=to, run_phase="EXECUTION"), 0)
        case "REJECTED_POLICY by refusal":
            bench.give(waiting(1, to=to), 0)
            bench.give(ack(5, 1, "a", "REJECTED"), 1)
        case "REJECTED_SCHEMA":
            bench.give(packet("IDEA", 1, to=to, confidence=9), 0)
    assert bench.state(1)["state"] == state.split()[0]
    return bench


@pytest.mark.parametrize(
    ("state", "notices"),
    [
        ("ROUTED", True),
        ("APPLIED", True),
        ("ARCHIVED", True),
        ("EXPIRED", True),
        ("EXPIRED on arrival", False),
        ("REJECTED_POLICY", False),
        ("REJECTED_POLICY by refusal", True),
        ("REJECTED_SCHEMA", False),
    ],
)
def test_every_state_may_be_retracted_and_holders_are_told(state: str, notices: bool) -> None:
    bench = bench_with(state)
    taken_back = retraction(2, 1, to=("builder-9", "b"))
    sent = bench.decide_json(taken_back, START_MS + 100)
    verdict, effect = bench.facts(sent)
    assert (verdict["verdict"], verdict["state"]) == ("accepted", "ARCHIVED")
    assert (effect["rule"], effect["state"]) == ("retracted", "RETRACTED")
    assert events(effect["transitions"]) == ["retraction_packet_received"]
    assert (effect["packet_id"], effect["cause_packet_id"]) == (pid(1), pid(2))
    row = bench.state(1)
    assert (row["rule"], row["counted"], row["packet"]) == ("retracted", False, None)
    assert bench.timers == {}
    deliveries = [d for d in bench.inbox(sent) if d["kind"] == "retraction"]
    assert [d["recipient_agent_id"] for d in deliveries] == (["a"] if notices else [])
    assert [d["recipient_agent_id"] for d in bench.inbox(sent) if d["kind"] == "packet"] == [
        "builder-9",
        "b",
    ]


def test_a_notice_is_the_retraction_itself() -> None:
    bench = bench_with("ARCHIVED")
    taken_back = retraction(2, 1, to=("b",))
    (notice,) = [
        d
        for d in bench.inbox(bench.decide_json(taken_back, START_MS + 100))
        if d["kind"] != "packet"
    ]
    assert notice == {
        "delivery_id": f"{pid(1)}/a/notice",
        "kind": "retraction",
        "recipient_agent_id": "a",
        "attempt": 1,
        "packet": taken_back,
        "position": "apc.packets/0/1",
        "at": "2026-01-01T00:00:00.100Z",
        "deadline_at": "2026-01-01T00:00:30.100Z",
        "ack_due_at": None,
    }


def test_a_retracted_packet_is_neither_delivered_nor_expired_again() -> None:
    bench = bench_with("ROUTED")
    bench.give(retraction(2, 1), 100)
    assert bench.advance_to(START_MS + 60_000) == []
    (fact,) = bench.give(ack(3, 1, "a"), 60_001)
    assert fact["warnings"] == ["ack_without_effect"]


def test_a_retracted_packet_is_not_verified() -> None:
    bench = bench_with("APPLIED")
    bench.give(retraction(2, 1), 100)
    (fact,) = bench.give(evaluation(3, 1), 200)
    assert fact["warnings"] == []
    assert bench.state(1)["state"] == "RETRACTED"


def test_a_retracted_eval_is_counted_no_more() -> None:
    bench = Bench()
    bench.give(evaluation(1), 0)
    bench.give(retraction(2, 1), 1)
    assert bench.tables["apc-tasks"] == {}
    (fact,) = bench.give(packet("DECISION", 3), 2)
    assert "promotion_eligible" not in events(fact["transitions"])


def test_what_a_retracted_answer_did_stays() -> None:
    bench = Bench()
    bench.give(waiting(1), 0)
    bench.give(ack(2, 1, "a"), 1)
    facts = bench.give(retraction(3, 2, sender="a"), 2)
    assert [f["state"] for f in facts] == ["ARCHIVED", "RETRACTED"]
    assert bench.state(1)["acks"]["accepted"] == ["a"]


def test_what_a_retracted_eval_decided_stays() -> None:
    bench = bench_with("APPLIED")
    bench.give(evaluation(2, 1, ok=False), 1)
    bench.give(retraction(3, 2), 2)
    assert (bench.state(1)["state"], bench.state(1)["rule"]) == (
        "REJECTED_POLICY",
        "evaluated_fail",
    )


def test_the_replacement_moves_nothing() -> None:
    bench = bench_with("ARCHIVED")
    bench.give(packet("IDEA", 4), 1)
    named = retraction(2, 1)
    named["payload"]["replacement_packet_id"] = pid(4).upper()
    facts = bench.give(named, 2)
    assert len(facts) == 2
    assert facts[0]["packet"]["payload"]["replacement_packet_id"] == pid(4)
    assert bench.state(4)["version"] == 1


def test_a_retraction_past_its_time_retracts_nothing() -> None:
    bench = bench_with("ARCHIVED")
    facts = bench.give(retraction(2, 1, expires_at="2025-01-01T00:00:00Z"), 100)
    assert [f["warnings"] for f in facts] == [["expired_on_arrival"]]
    assert bench.state(1)["state"] == "ARCHIVED"
