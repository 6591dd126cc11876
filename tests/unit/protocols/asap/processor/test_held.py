"""Requests that wait for what another key knows, and what comes behind them (ASAP guide, 5.3)."""

from __future__ import annotations

from schemas import asap
from streams.engine.work import STEP_BYTES
from streams.protocols.asap.processor import dispatch
from tests.unit.protocols.asap.processor.requests import (
    HOUR_MS,
    KEYED,
    Json,
    child,
    requested,
    waiting,
)
from tests.unit.protocols.asap.processor.support import (
    INDEXER,
    PLANNER,
    START_MS,
    STRANGER,
    Bench,
    envelope,
)
from topology.asap import ASAP_ADMISSIONS, ASAP_EVENTS, ASAP_HELD, ASAP_INBOX, ASAP_LINKS


def test_a_held_key_holds_what_comes_behind() -> None:
    bench = Bench()
    sent = bench.decide(bench.record(requested("T", KEYED)))
    assert bench.of(ASAP_EVENTS, sent) == []
    update = bench.record(envelope("TaskUpdate", {"task_id": "T", "status": "working"}, id="u"))
    cancel = bench.record(cancelled("c"), at=START_MS + 50)
    assert bench.decide(update, cancel) == []
    bench.settle(sent)
    facts = bench.facts()
    assert [(f["rule"], f["sequence"]) for f in facts] == [
        ("task_created", 1),
        ("status_changed", 2),
        ("task_cancelled", 3),
    ]
    assert [f["at"][-5:] for f in facts] == [".000Z", ".000Z", ".050Z"]
    assert [f["cause"] for f in facts] == [f"asap.envelopes/0/{i}" for i in range(3)]
    assert not bench.rows(ASAP_ADMISSIONS)
    assert not bench.rows(ASAP_HELD)
    assert not waiting(bench), "neither the question nor the task waits any more"


def cancelled(id: str) -> Json:
    return envelope("TaskCancel", {"task_id": "T"}, id=id, sender=PLANNER, recipient=INDEXER)


def test_ids_of_a_held_decision_are_those_of_its_own_record() -> None:
    bench = Bench()
    fact = bench.request("T", KEYED)
    assert fact["event_id"] == asap.derived_id("asap.envelopes/0/0", 0, START_MS)


def test_a_hundred_records_wait_and_no_more() -> None:
    bench = Bench()
    sent = bench.decide(bench.record(requested("T", KEYED)))
    for i in range(100):
        assert bench.decide(bench.record(message(i))) == []
    over = bench.decide(bench.record(message(100)))
    (fact,) = [one.json for one in bench.of(ASAP_EVENTS, over)]
    assert (fact["rule"], fact["fault"]) == ("held_overflow", "service")
    assert fact["asap_error"] == "asap:resource/rate_limited"
    bench.settle(sent)
    while bench.rows(ASAP_HELD):
        bench.fire(bench.now)
    decided = [f["envelope_id"] for f in bench.facts()[1:]]
    assert decided == ["T", *[f"m-{i}" for i in range(100)]]
    assert bench.task()["sequence"] == 101


def message(i: int) -> Json:
    return envelope("MessageSend", {"task_id": "T", "sender": INDEXER}, id=f"m-{i}")


def test_the_largest_records_of_a_queue_fit_one_step() -> None:
    """Each of them, and the request before the first, causes a fact and at most two envelopes."""
    largest = ASAP_EVENTS.max_bytes + 2 * ASAP_INBOX.max_bytes
    assert (dispatch.MAX_PER_STEP + 1) * largest <= STEP_BYTES


def test_what_comes_while_a_long_queue_is_decided_waits_behind_it() -> None:
    bench = Bench()
    sent = bench.decide(bench.record(requested("T", KEYED)))
    for i in range(15):
        bench.decide(bench.record(message(i)))
    bench.settle(sent)
    assert bench.decide(bench.record(message(15))) == []
    while bench.rows(ASAP_HELD):
        bench.fire(bench.now)
    assert [f["envelope_id"] for f in bench.facts()] == ["T", *[f"m-{i}" for i in range(16)]]


def test_a_timer_lets_the_queue_go_first() -> None:
    bench = Bench()
    config = {"config": {"idempotency_key": "k", "timeout_seconds": 90}}
    sent = bench.decide(bench.record(requested("T", config)))
    for i in range(15):
        bench.decide(bench.record(message(i)))
    response = envelope("TaskResponse", {"task_id": "T"}, id="r", correlation_id="T")
    bench.decide(bench.record(response, at=START_MS + 90_000))
    bench.now += 600_000
    bench.settle(sent)
    while bench.rows(ASAP_HELD):
        bench.fire(bench.now)
    assert [f["rule"] for f in bench.facts()[-2:]] == ["message_forwarded", "response_recorded"]
    assert not bench.armed()


def test_a_parent_is_known_while_its_queue_is_being_decided() -> None:
    bench = Bench()
    sent = bench.decide(bench.record(requested("T", KEYED)))
    for i in range(15):
        bench.decide(bench.record(message(i)))
    bench.settle(sent)
    assert bench.rows(ASAP_HELD)
    assert bench.request("U", child("T"))["figures"]["depth"] == 1
    assert bench.facts()[-1]["figures"]["parent_known"] is True


def test_a_second_request_in_the_queue_is_held_in_its_turn() -> None:
    bench = Bench(asap_max_depth=1)
    bench.request("P")
    bench.request("Q", child("P"))
    sent = bench.decide(bench.record(requested("T", child("Q"))))
    bench.decide(bench.record(requested("T", child("P"))), bench.record(message(0)))
    bench.settle(sent)
    assert [f["rule"] for f in bench.facts()[2:]] == [
        "depth_exceeded",
        "task_created",
        "message_forwarded",
    ]


def test_the_same_request_behind_itself_is_a_duplicate() -> None:
    bench = Bench()
    first, second = bench.record(requested("T", KEYED)), bench.record(requested("T", KEYED))
    bench.settle(bench.decide(first, second))
    assert [f["rule"] for f in bench.facts()] == ["task_created", "same_envelope"]


def test_a_request_asks_again_every_thirty_seconds() -> None:
    bench = Bench()
    bench.decide(bench.record(requested("T", {**child("P"), **KEYED})))
    again = bench.advance_to(START_MS + 30_000)
    assert [link.value["kind"] for link in again] == ["depth_ask"]
    bench.settle(again)
    assert [f["rule"] for f in bench.facts()] == ["task_created"]
    assert [kind for _, kind, _ in waiting(bench)] == ["task"]


def test_an_answer_that_comes_twice_counts_once() -> None:
    bench = Bench()
    sent_request = bench.decide(bench.record(requested("T", KEYED)))
    again = bench.advance_to(START_MS + 30_000)
    bench.settle([*sent_request, *again])
    assert [f["rule"] for f in bench.facts()] == ["task_created"]
    assert len(bench.inbox(INDEXER)) == 1


def test_nothing_waits_for_ever() -> None:
    bench = Bench()
    bench.decide(
        bench.record(requested("T", {"parent_task_id": "P", "config": {"timeout_seconds": 40}}))
    )
    bench.advance_to(START_MS + 59_999)
    assert bench.facts() == []
    bench.advance_to(START_MS + 60_000)
    assert [f["rule"] for f in bench.facts()] == ["task_created", "task_timeout"]
    assert bench.facts()[0]["figures"]["parent_known"] is None
    assert bench.task()["status"] == "failed"


def test_after_an_outage_a_request_asks_again_before_it_gives_up() -> None:
    bench = Bench()
    sent_request = bench.decide(bench.record(requested("T", KEYED)))
    bench.request("U", KEYED)
    bench.fire(START_MS + 24 * HOUR_MS)
    assert "T" not in {f["envelope_id"] for f in bench.facts()}
    bench.settle(sent_request)
    assert bench.facts()[-1]["rule"] == "same_idempotency_key"


def test_an_answer_to_another_question_does_not_count() -> None:
    bench = Bench()
    first = bench.decide(bench.record(requested("T", child("P"))))
    (ask,) = bench.of(ASAP_LINKS, first)
    stale = {**ask.value, "kind": "depth_answer", "from_key": "Q", "known": True, "depth": 9}
    late = {**stale, "from_key": "P", "at": START_MS - 1}
    other = {**stale, "from_key": "P", "sender": STRANGER}
    for link in (stale, late, other):
        answer = bench.message(link, bench.now, key="T", avro=True, topic=ASAP_LINKS)
        assert bench.decide(answer) == []
    bench.settle(first)
    assert bench.task()["depth"] == 1


def test_an_answer_may_stand_in_one_batch_with_what_it_lets_go() -> None:
    bench = Bench()
    (ask,) = bench.of(ASAP_LINKS, bench.decide(bench.record(requested("T", KEYED))))
    sent_request = bench.message(ask.value, bench.now, key=ask.key, avro=True, topic=ASAP_LINKS)
    (answer,) = bench.of(ASAP_LINKS, bench.decide(sent_request))
    reply = bench.message(answer.value, bench.now, key=answer.key, avro=True, topic=ASAP_LINKS)
    update = bench.record(envelope("TaskUpdate", {"task_id": "T", "status": "working"}, id="u"))
    cancel = bench.record(cancelled("c"))
    bench.decide(update, reply, cancel)
    assert [f["rule"] for f in bench.facts()] == [
        "task_created",
        "status_changed",
        "task_cancelled",
    ]


def test_a_response_may_stand_in_one_batch_with_the_duplicate_that_asks_for_it() -> None:
    bench = Bench()
    bench.request("T", KEYED)
    bench.request("U", KEYED)
    resend = bench.of(ASAP_LINKS)[-1]
    again = bench.message(resend.value, bench.now, key=resend.key, avro=True, topic=ASAP_LINKS)
    payload = {"task_id": "T", "status": "completed"}
    response = bench.record(envelope("TaskResponse", payload, id="R", correlation_id="T"))
    bench.decide(response, again)
    assert [e["id"] for e in bench.inbox(PLANNER)] == ["R", "R"]
