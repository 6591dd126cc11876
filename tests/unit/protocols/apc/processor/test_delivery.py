"""Acknowledgements, refusals, deferrals, redeliveries and the two timers."""

from __future__ import annotations

import pytest

from tests.unit.processing.harness import START_MS
from tests.unit.protocols.apc.processor.packets import (
    Bench,
    Json,
    ack,
    at,
    deferred,
    evaluation,
    events,
    packet,
    pid,
    retraction,
    timers,
    waiting,
)
from topology.apc import APC_INBOX

APPLIED = ["delivery_ack", "consumer_apply"]
ARCHIVED = [*APPLIED, "verification_pass", "non_promotable_complete"]
TTL, ACK = "apc.ttl", "apc.ack"


def to_six_seconds() -> Bench:
    """The spec's example up to 00:06, where `b` defers for the first time."""
    bench = Bench()
    (fact,) = bench.give(waiting(1, ack_timeout_ms=4000, retry_limit=2), 0)
    assert fact["state"] == "ROUTED"
    assert fact["acks"] == {
        "required": True,
        "recipients": ["a", "b"],
        "accepted": [],
        "pending": ["a", "b"],
        "attempt": 1,
        "deadline_at": at(30_000),
        "ack_due_at": at(4_000),
    }
    assert timers(bench) == {(30_000, TTL), (4_000, ACK)}

    _, effect = bench.give(ack(2, 1, "a"), 1_000)
    assert (effect["rule"], effect["transitions"], effect["state"]) == (
        "ack_recorded",
        [],
        "ROUTED",
    )
    assert (effect["acks"]["accepted"], effect["acks"]["pending"]) == (["a"], ["b"])

    sent = bench.advance_to(START_MS + 4_000)
    (fact,) = bench.facts(sent)
    assert (fact["verdict"], fact["rule"]) == ("fired", "redelivered")
    assert fact["event_id"] == "apc.packets/0/0/ack/1"
    assert (fact["at"], fact["due_at"], fact["cause"]) == (at(4_000), at(4_000), "apc.packets/0/0")
    assert (fact["acks"]["attempt"], fact["acks"]["ack_due_at"]) == (2, at(8_000))
    (delivery,) = bench.inbox(sent)
    assert delivery == {
        "delivery_id": f"{pid(1)}/b/2",
        "kind": "redelivery",
        "recipient_agent_id": "b",
        "attempt": 2,
        "packet": waiting(1, ack_timeout_ms=4000, retry_limit=2),
        "position": "apc.packets/0/0",
        "at": at(4_000),
        "deadline_at": at(30_000),
        "ack_due_at": at(8_000),
    }
    assert timers(bench) == {(30_000, TTL), (8_000, ACK)}

    _, effect = bench.give(ack(3, 1, "b", "DEFERRED"), 6_000)
    assert (effect["rule"], effect["transitions"]) == ("ack_deferred", [])
    assert (effect["acks"]["attempt"], effect["acks"]["pending"]) == (2, ["b"])
    assert effect["acks"]["ack_due_at"] == at(10_000)
    assert timers(bench) == {(30_000, TTL), (10_000, ACK)}

    assert bench.advance_to(START_MS + 9_999) == []
    sent = bench.advance_to(START_MS + 10_000)
    (fact,) = bench.facts(sent)
    assert fact["event_id"] == "apc.packets/0/0/ack/2"
    assert [d["delivery_id"] for d in bench.inbox(sent)] == [f"{pid(1)}/b/3"]
    assert timers(bench) == {(30_000, TTL), (14_000, ACK)}
    return bench


def test_worked_example_without_an_answer() -> None:
    bench = to_six_seconds()
    sent = bench.advance_to(START_MS + 14_000)
    (fact,) = bench.facts(sent)
    assert (fact["verdict"], fact["rule"], fact["state"]) == ("fired", "ack_timeout", "EXPIRED")
    assert fact["event_id"] == "apc.packets/0/0/ack/3"
    assert events(fact["transitions"]) == ["ttl_expired"]
    assert bench.inbox(sent) == []
    assert bench.timers == {}
    row = bench.state(1)
    assert (row["rule"], row["counted"], row["packet"]) == ("ack_timeout", False, None)
    assert row["history"][-1]["at"] == START_MS + 14_000
    assert row["history"][-1]["cause"] is None


def test_worked_example_with_an_answer() -> None:
    bench = to_six_seconds()
    _, effect = bench.give(ack(4, 1, "b"), 13_000)
    assert (effect["rule"], effect["state"]) == ("delivered", "ARCHIVED")
    assert events(effect["transitions"]) == ARCHIVED
    assert [t["seq"] for t in effect["transitions"]] == [5, 6, 7, 8]
    assert {t["at"] for t in effect["transitions"]} == {at(13_000)}
    assert effect["acks"]["accepted"] == ["a", "b"]
    assert effect["acks"]["pending"] == []
    assert effect["acks"]["ack_due_at"] is None
    assert effect["cause_packet_id"] == pid(4)
    assert bench.timers == {}
    row = bench.state(1)
    assert (row["packet"], row["rule"], row["version"]) == (None, "delivered", 6)
    assert [t["at"] for t in row["history"][4:]] == [None] + [START_MS + 13_000] * 4
    assert [t["cause"] for t in row["history"][4:]] == [None] + [effect["cause"]] * 4


def test_accepted_recipients_stand_in_recipient_order() -> None:
    bench = Bench()
    bench.give(waiting(1, to=("a", "b", "c")), 0)
    bench.give(ack(2, 1, "c"), 1)
    _, effect = bench.give(ack(3, 1, "a"), 2)
    assert effect["acks"]["accepted"] == ["a", "c"]


def test_a_packet_waits_with_its_content() -> None:
    bench = Bench()
    bench.give(waiting(1), 0)
    row = bench.state(1)
    assert row["packet"]["payload"][0] == "headrace.apc.IdeaPayload"
    assert timers(bench) == {(30_000, TTL)}


@pytest.mark.parametrize(
    ("answer", "warnings"),
    [
        (ack(2, 1, "a", "REJECTED", reason="no time"), []),
        (ack(2, 1, "a", "REJECTED", nack=True, reason="no time"), []),
        (ack(2, 1, "a", "ACCEPTED", nack=True, reason="no time"), ["nack_status_ignored"]),
        (ack(2, 1, "a", "DEFERRED", nack=True, reason="no time"), ["nack_status_ignored"]),
    ],
)
def test_one_refusal_refuses(answer: Json, warnings: list[str]) -> None:
    bench = Bench()
    bench.give(waiting(1, ack_timeout_ms=4000), 0)
    verdict, effect = bench.give(answer, 1_000)
    assert verdict["warnings"] == warnings
    assert (effect["rule"], effect["state"]) == ("recipient_refused", "REJECTED_POLICY")
    assert events(effect["transitions"]) == [*APPLIED, "verification_fail"]
    assert [t["metadata"] for t in effect["transitions"]] == [None, None, {"reason": "no time"}]
    assert effect["acks"]["pending"] == ["a", "b"]
    assert bench.timers == {}
    row = bench.state(1)
    assert (row["rule"], row["counted"], row["packet"]) == ("recipient_refused", False, None)


def test_a_refusal_may_give_no_reason() -> None:
    bench = Bench()
    bench.give(waiting(1), 0)
    _, effect = bench.give(ack(2, 1, "a", "REJECTED"), 1)
    assert [t["metadata"] for t in effect["transitions"]] == [None, None, None]


def test_deferring_costs_no_attempt() -> None:
    bench = Bench()
    bench.give(waiting(1, to=("a",), ack_timeout_ms=1000), 0)
    for n in range(5):
        bench.give(ack(2 + n, 1, "a", "DEFERRED"), 900 * (n + 1))
    assert timers(bench) == {(30_000, TTL), (5_500, ACK)}
    sent = bench.advance_to(START_MS + 5_500)
    assert [f["rule"] for f in bench.facts(sent)] == ["ack_timeout"]
    assert bench.facts(sent)[0]["event_id"] == "apc.packets/0/0/ack/1"


def test_deferring_without_a_timeout_arms_nothing() -> None:
    bench = Bench()
    bench.give(waiting(1), 0)
    _, effect = bench.give(ack(2, 1, "a", "DEFERRED"), 1_000)
    assert effect["rule"] == "ack_deferred"
    assert timers(bench) == {(30_000, TTL)}


def test_deferring_in_the_batch_of_the_packet() -> None:
    bench = Bench()
    made = bench.message(waiting(1, ack_timeout_ms=4000), START_MS)
    answer = bench.message(ack(2, 1, "a", "DEFERRED"), START_MS + 1_000)
    facts = bench.facts(bench.decide(made, answer))
    assert [fact["rule"] for fact in facts] == ["accepted", "accepted", "ack_deferred"]
    assert facts[0]["acks"]["ack_due_at"] == at(4_000)
    assert timers(bench) == {(30_000, TTL), (5_000, ACK)}


@pytest.mark.parametrize("last", ["ACCEPTED", "REJECTED", "DEFERRED"])
def test_an_answer_to_a_packet_that_waits_no_more_has_no_effect(last: str) -> None:
    bench = Bench()
    bench.give(waiting(1, to=("a",)), 0)
    bench.give(ack(2, 1, "a"), 1)
    facts = bench.give(ack(3, 1, "a", last), 2)
    assert [f["warnings"] for f in facts] == [["ack_without_effect"]]
    assert bench.state(1)["state"] == "ARCHIVED"


def test_an_answer_that_nobody_asked_for_has_no_effect() -> None:
    bench = Bench()
    bench.give(packet("IDEA", 1, to=("a",)), 0)
    (fact,) = bench.give(ack(2, 1, "a", "REJECTED", nack=True), 1)
    assert (fact["verdict"], fact["warnings"]) == ("accepted", ["ack_without_effect"])
    assert bench.state(1)["state"] == "ARCHIVED"


@pytest.mark.parametrize("status", ["ACCEPTED", "REJECTED", "DEFERRED"])
def test_a_recipient_answers_once(status: str) -> None:
    bench = Bench()
    bench.give(waiting(1), 0)
    bench.give(ack(2, 1, "a"), 1)
    (fact,) = bench.give(ack(3, 1, "a", status), 2)
    assert fact["warnings"] == ["ack_repeated"]
    assert bench.state(1)["acks"]["pending"] == ["b"]


def test_an_expired_packet_stays_expired() -> None:
    bench = Bench()
    bench.give(waiting(1, to=("a",)), 0)
    bench.advance_to(START_MS + 30_000)
    (fact,) = bench.give(ack(2, 1, "a"), 30_001)
    assert fact["warnings"] == ["ack_without_effect"]
    assert bench.state(1)["state"] == "EXPIRED"


def test_an_eval_that_was_refused_or_expired_is_counted_no_more() -> None:
    for end in ("refuse", "expire"):
        bench = Bench()
        bench.give(waiting(1, packet_type="EVAL", to=("a",)), 0)
        assert len(bench.tables["apc-tasks"]) == 1
        if end == "refuse":
            bench.give(ack(2, 1, "a", "REJECTED"), 1)
        else:
            bench.advance_to(START_MS + 30_000)
        assert bench.tables["apc-tasks"] == {}


def test_an_answer_may_itself_ask_for_acknowledgement() -> None:
    bench = Bench()
    bench.give(waiting(1, to=("a",)), 0)
    answer = ack(2, 1, "a", routing={"requires_ack": True})
    verdict, effect = bench.give(answer, 1)
    assert (verdict["state"], effect["state"]) == ("ROUTED", "ARCHIVED")
    _, effect = bench.give(ack(3, 2, "builder-1"), 2)
    assert (effect["packet_id"], effect["state"]) == (pid(2), "ARCHIVED")


def test_deliveries_are_keyed_and_named_by_agent() -> None:
    bench = Bench()
    sent = bench.decide_json(packet("IDEA", 1, to=("a/b",)))
    (delivery,) = bench.of(APC_INBOX, sent)
    assert (delivery.key, delivery.id) == ("a/b", f"{pid(1)}/a%2Fb/1")


def test_a_deferred_packet_waits_applied_after_its_last_answer() -> None:
    bench = Bench()
    bench.give(deferred(1, to=("a",), routing={"requires_ack": True}), 0)
    _, effect = bench.give(ack(2, 1, "a"), 1)
    assert (effect["rule"], effect["state"]) == ("delivered", "APPLIED")
    assert bench.state(1)["packet"] is not None
    _, effect = bench.give(evaluation(3, 1), 99_000)
    assert (effect["rule"], effect["state"]) == ("verified", "ARCHIVED")


def test_an_eval_whose_kept_outcome_fails_is_counted_no_more() -> None:
    bench = Bench()
    bench.give(waiting(1, packet_type="EVAL", to=("a",), metadata={"verification": "deferred"}), 0)
    bench.give(evaluation(2, 1, ok=False, run_phase="VALIDATION"), 1)
    bench.give(retraction(3, 2), 2)
    assert len(bench.tables["apc-tasks"]) == 1
    _, effect = bench.give(ack(4, 1, "a"), 3)
    assert effect["state"] == "REJECTED_POLICY"
    assert bench.tables["apc-tasks"] == {}


def test_a_transition_in_a_row_leaves_out_only_what_is_the_packets_own() -> None:
    bench = Bench()
    bench.give(waiting(1, to=("a",)), 0)
    bench.give(ack(2, 1, "a"), 0)
    transitions = bench.state(1)["history"][5:]
    assert len(transitions) == 4
    assert {(t["at"], t["cause"]) for t in transitions} == {(None, "apc.packets/0/1")}
