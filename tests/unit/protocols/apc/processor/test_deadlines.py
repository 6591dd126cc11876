"""Deadlines: the two timers, answers on both sides of them, and packets that come too late."""

from __future__ import annotations

import pytest

from tests.unit.processing.harness import START_MS
from tests.unit.protocols.apc.processor.packets import (
    Bench,
    ack,
    at,
    events,
    packet,
    retraction,
    timers,
    waiting,
)
from topology.apc import APC_EVENTS

TTL, ACK = "apc.ttl", "apc.ack"


def test_a_redelivery_is_timed_from_the_tick() -> None:
    bench = Bench()
    bench.give(waiting(1, ack_timeout_ms=4000, retry_limit=1), 0)
    sent = bench.fire(START_MS + 4_700)
    (fact,) = bench.facts(sent)
    assert (fact["at"], fact["due_at"]) == (at(4_700), at(4_000))
    assert fact["acks"]["ack_due_at"] == at(8_700)
    assert [d["recipient_agent_id"] for d in bench.inbox(sent)] == ["a", "b"]
    assert timers(bench) == {(30_000, TTL), (8_700, ACK)}


def test_ttl_expires_a_packet_that_nobody_answers() -> None:
    bench = Bench()
    bench.give(waiting(1), 0)
    assert bench.advance_to(START_MS + 29_999) == []
    (fact,) = bench.facts(bench.fire(START_MS + 30_123))
    assert (fact["verdict"], fact["rule"], fact["state"]) == ("fired", "ttl_expired", "EXPIRED")
    assert fact["event_id"] == "apc.packets/0/0/ttl"
    assert (fact["at"], fact["due_at"]) == (at(30_123), at(30_000))
    assert fact["transitions"][0]["at"] == at(30_123)
    assert fact["cause_packet_id"] is None
    assert bench.timers == {}


def test_when_both_timers_are_due_ttl_goes_first() -> None:
    bench = Bench()
    bench.give(waiting(1, ttl_ms=4_000, ack_timeout_ms=4_000, retry_limit=3), 0)
    (fact,) = bench.facts(bench.fire(START_MS + 4_000))
    assert (fact["rule"], fact["event_id"]) == ("ttl_expired", "apc.packets/0/0/ttl")


def test_a_worker_that_was_down_past_both_timers_expires_by_ttl() -> None:
    bench = Bench()
    bench.give(waiting(1, ack_timeout_ms=4_000, retry_limit=3), 0)
    sent = bench.fire(START_MS + 59_000)
    (fact,) = bench.facts(sent)
    assert (fact["rule"], fact["event_id"]) == ("ttl_expired", "apc.packets/0/0/ttl")
    assert (fact["at"], fact["due_at"]) == (at(59_000), at(30_000))
    assert bench.inbox(sent) == []
    assert bench.timers == {}


def test_an_answer_dated_before_the_deadline_counts_whenever_it_is_read() -> None:
    bench = Bench()
    bench.give(waiting(1, to=("a",)), 0)
    bench.give(packet("IDEA", 5, session="sess-02"), 59_000)
    _, effect = bench.give(ack(2, 1, "a"), 29_999)
    assert effect["rule"] == "delivered"
    assert bench.fire(START_MS + 60_000) == []


@pytest.mark.parametrize("late", [30_000, 30_001, 59_000])
def test_an_answer_dated_after_the_deadline_finds_the_packet_expired(late: int) -> None:
    bench = Bench()
    bench.give(waiting(1, to=("a",), ack_timeout_ms=60_000), 0)
    fired, verdict = bench.give(ack(2, 1, "a"), late)
    assert (fired["verdict"], fired["rule"], fired["state"]) == ("fired", "ttl_expired", "EXPIRED")
    assert fired["event_id"] == "apc.packets/0/0/ttl"
    assert (fired["at"], fired["due_at"]) == (at(late), at(30_000))
    assert fired["cause"] == "apc.packets/0/0"
    assert (verdict["verdict"], verdict["warnings"]) == ("accepted", ["ack_without_effect"])
    assert verdict["event_id"] == "apc.packets/0/1/0"
    assert bench.timers == {}
    assert bench.fire(START_MS + 70_000) == []


def test_a_refused_answer_expires_an_overdue_packet_too() -> None:
    bench = Bench()
    bench.give(waiting(1, to=("a",)), 0)
    fired, verdict = bench.give(ack(2, 1, "stranger"), 40_000)
    assert fired["rule"] == "ttl_expired"
    assert verdict["rule"] == "ack_not_recipient"


def test_a_malformed_answer_expires_nothing() -> None:
    bench = Bench()
    bench.give(waiting(1, to=("a",)), 0)
    (verdict,) = bench.give(ack(2, 1, "a", confidence=2), 40_000)
    assert verdict["rule"] == "number_range"
    assert bench.state(1)["state"] == "ROUTED"


def test_an_overdue_packet_expires_before_it_is_retracted() -> None:
    bench = Bench()
    bench.give(waiting(1, to=("a",)), 0)
    facts = bench.give(retraction(2, 1), 40_000)
    assert [f["verdict"] for f in facts] == ["fired", "accepted", "effect"]
    assert [f["state"] for f in facts] == ["EXPIRED", "ARCHIVED", "RETRACTED"]


@pytest.mark.parametrize("stale", ["gone", "moved", "rearmed"])
def test_a_stale_timer_does_nothing(stale: str) -> None:
    bench = Bench()
    bench.give(waiting(1, to=("a",), ack_timeout_ms=4_000), 0)
    armed = dict(bench.timers)
    if stale == "gone":
        bench.tables["apc.packet-states"].clear()
    elif stale == "moved":
        bench.give(ack(2, 1, "a"), 1_000)
    else:
        bench.give(ack(2, 1, "a", "DEFERRED"), 1_000)
        armed = {key: data for key, data in armed.items() if key[1] == ACK}
    bench.timers = dict(armed)
    before = dict(bench.tables["apc.packet-states"])
    assert bench.fire(START_MS + 4_000) == []
    if stale != "rearmed":
        assert bench.fire(START_MS + 30_000) == []
    assert bench.tables["apc.packet-states"] == before


@pytest.mark.parametrize(
    ("expires_at", "deadline"),
    [
        ("2026-01-01T00:00:20Z", 20_000),
        ("2026-01-01T01:00:20.1239+01:00", 20_123),
        ("2026-01-01T00:00:00.001999999Z", 1),
        ("2026-01-01T00:00:31Z", 30_000),
        ("2030-01-01T00:00:00Z", 30_000),
    ],
)
def test_the_deadline_is_the_earlier_of_two_and_floored(expires_at: str, deadline: int) -> None:
    bench = Bench()
    (fact,) = bench.give(waiting(1, expires_at=expires_at), 0)
    assert fact["acks"]["deadline_at"] == at(deadline)
    assert timers(bench) == {(deadline, TTL)}


@pytest.mark.parametrize(
    "expires_at",
    [
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00.0009Z",
        "2025-12-31T23:59:59.999Z",
        "0001-01-01T00:00:00+23:59",
    ],
)
@pytest.mark.parametrize("requires_ack", [True, False])
def test_a_packet_past_its_time_is_accepted_and_expired(
    expires_at: str, requires_ack: bool
) -> None:
    bench = Bench()
    made = packet("EVAL", 1, routing={"requires_ack": requires_ack}, expires_at=expires_at)
    sent = bench.decide_json(made, START_MS)
    (fact,) = bench.facts(sent)
    assert [one.topic for one in sent] == [APC_EVENTS]
    assert (fact["verdict"], fact["rule"], fact["state"]) == ("accepted", "accepted", "EXPIRED")
    assert fact["warnings"] == ["expired_on_arrival"]
    assert events(fact["transitions"])[-2:] == ["route_selected", "ttl_expired"]
    assert fact["acks"] is None
    assert bench.timers == {}
    assert bench.tables["apc-tasks"] == {}
    row = bench.state(1)
    assert (row["counted"], row["packet"]) == (False, None)


def test_an_answer_past_its_time_has_no_effect() -> None:
    bench = Bench()
    bench.give(waiting(1, to=("a",)), 0)
    facts = bench.give(ack(2, 1, "a", expires_at="2026-01-01T00:00:00Z"), 1)
    assert [f["warnings"] for f in facts] == [["expired_on_arrival"]]
    assert bench.state(1)["acks"]["pending"] == ["a"]


def test_timers_carry_the_trace_of_their_packet() -> None:
    trace = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    bench = Bench()
    made = waiting(1, ack_timeout_ms=4_000, retry_limit=1)
    bench.decide(bench.message(made, START_MS, headers=[("traceparent", trace)]))
    sent = bench.advance_to(START_MS + 40_000)
    assert len(bench.facts(sent)) == 2
    assert {one.traceparent for one in sent} == {trace}
