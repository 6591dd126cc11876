"""From a TaskRequest to its task: recipient, skill, depth and idempotency key (spec 5.3)."""

from __future__ import annotations

from typing import Any

import pytest

from schemas import asap
from streams.engine.work import STEP_BYTES
from streams.processors.asap import links
from tests.unit.processors.asap.support import (
    CONVERSATION,
    INDEXER,
    PLANNER,
    START_MS,
    STRANGER,
    Bench,
    envelope,
)
from topology.tables import ASAP_ADMISSIONS, ASAP_CLAIMS, ASAP_HELD, ASAP_MANIFESTS
from topology.topics import ASAP_EVENTS, ASAP_INBOX, ASAP_LINKS

Json = dict[str, Any]

HOUR_MS = 3_600_000
NO_SCHEMAS = {"input_schema_json": None, "output_schema_json": None}
KEYED = {"config": {"idempotency_key": "nightly-3"}}


def waiting(bench: Bench) -> list[tuple[int, str, str]]:
    """Timers that decide something; the others only clean up."""
    return sorted(timer for timer in bench.timers if timer[1] in ("task", "ask", "drain"))


def child(parent: str) -> Json:
    return {"parent_task_id": parent}


def manifest(urn: str, *skills: str) -> Json:
    """The Avro value of a manifest that lists these skills."""
    listed = [{"id": skill, "description": "", **NO_SCHEMAS} for skill in skills]
    return {
        "id": urn,
        "name": "n",
        "version": "1.0",
        "description": "",
        "capabilities": {
            "asap_version": "0.1",
            "skills": listed,
            "state_persistence": False,
            "streaming": False,
            "mcp_tools": [],
        },
        "endpoints": {"asap": "http://there/asap", "events": None},
        "auth": None,
        "signature": None,
    }


def with_manifests(bench: Bench, *values: Json) -> Bench:
    bench.copied[ASAP_MANIFESTS.name] = {value["id"]: value for value in values}
    return bench


def test_a_request_that_rests_on_no_other_key_is_a_task_at_once() -> None:
    bench = Bench()
    fact = bench.request(trace_id="tr-19", payload={"config": {"timeout_seconds": 90}})
    assert (fact["verdict"], fact["rule"], fact["sequence"]) == ("accepted", "task_created", 1)
    assert fact["transitions"] == [
        {"from_status": None, "to_status": "submitted", "implied": False}
    ]
    assert fact["figures"] == {
        "depth": 0,
        "parent_known": None,
        "recipient_known": False,
        "manifests": 0,
        "timeout_ms": 90_000,
    }
    task = bench.task()
    assert (task["requester"], task["worker"], task["depth"]) == (PLANNER, INDEXER, 0)
    assert (task["state_mode"], task["event_retention_hours"]) == ("snapshot", None)
    assert task["config"] == {"timeout_seconds": 90}
    assert task["request_hash"] == fact["envelope_hash"]
    assert waiting(bench) == [(START_MS + 90_000, "task", "T")]
    assert [envelope["id"] for envelope in bench.inbox(INDEXER)] == ["T"]
    assert bench.moves() == [("none", "submitted")]
    assert set(bench.edges()) == {
        ("asap:task:T", "part_of", f"asap:conversation:{CONVERSATION}"),
        ("asap:task:T", "same_trace", "trace:tr-19"),
        ("asap:envelope:T", "part_of", "asap:task:T"),
    }
    assert bench.of(ASAP_LINKS) == []


def test_what_a_request_does_not_say_is_as_the_settings_say() -> None:
    bench = Bench(asap_timeout_seconds=5)
    bench.request(payload={"config": {"state_mode": "event-sourced"}})
    task = bench.task()
    assert task["timeout_at"] == "2026-01-01T00:00:05.000Z"
    assert (task["state_mode"], task["event_retention_hours"]) == ("event-sourced", 168)


def test_a_sub_task_is_one_deeper_than_its_parent() -> None:
    bench = Bench()
    bench.request("P")
    fact = bench.request("T", child("P"))
    assert (fact["figures"]["depth"], fact["figures"]["parent_known"]) == (1, True)
    assert bench.task()["depth"] == 1
    assert ("asap:task:T", "child_of", "asap:task:P") in bench.edges()
    assert [link.value["kind"] for link in bench.of(ASAP_LINKS)] == ["depth_ask", "depth_answer"]


def test_a_parent_that_nobody_knows_is_not_deep() -> None:
    bench = Bench()
    fact = bench.request("T", child("elsewhere"))
    assert (fact["rule"], bench.task()["depth"]) == ("task_created", 1)
    assert fact["figures"]["parent_known"] is False


@pytest.mark.parametrize("deepest", [0, 1, 10])
def test_a_chain_may_hold_so_many_generations_below_its_root(deepest: int) -> None:
    bench = Bench(asap_max_depth=deepest)
    bench.request("0")
    for depth in range(1, deepest + 1):
        fact = bench.request(str(depth), child(str(depth - 1)))
        assert (fact["rule"], fact["figures"]["depth"]) == ("task_created", depth)
    refused = bench.request("over", {**child(str(deepest)), **KEYED})
    assert (refused["rule"], refused["asap_error"]) == (
        "depth_exceeded",
        "asap:resource/quota_exceeded",
    )
    assert refused["figures"]["depth"] == deepest + 1
    assert not bench.rows(ASAP_CLAIMS), "a refused request never holds a key"
    assert not bench.rows(ASAP_ADMISSIONS)


def test_requests_that_name_each_other_do_not_block() -> None:
    bench = Bench()
    sent = bench.decide(bench.record(requested("A", child("B"))))
    sent += bench.decide(bench.record(requested("B", child("A"))))
    bench.settle(sent)
    assert [bench.task(name)["depth"] for name in "AB"] == [1, 1]


def requested(id: str, payload: Json | None = None, **more: Any) -> Json:
    return envelope("TaskRequest", payload, id=id, sender=PLANNER, recipient=INDEXER, **more)


def test_one_idempotency_key_stands_for_one_task() -> None:
    bench = Bench()
    assert bench.request("T", KEYED)["rule"] == "task_created"
    again = bench.request("U", KEYED)
    assert (again["verdict"], again["rule"]) == ("duplicate", "same_idempotency_key")
    assert (again["task_id"], again["figures"]) == ("T", {"content_differs": False})
    assert bench.request("V", {**KEYED, "input": {}})["figures"] == {"content_differs": True}
    assert ("asap:envelope:U", "part_of", "asap:task:T") in bench.edges()
    assert len(bench.inbox(INDEXER)) == 1, "the worker is asked once"
    assert [kind for _, kind, _ in waiting(bench)] == ["task"]


def test_a_claim_is_kept_under_the_key_that_the_spec_gives() -> None:
    bench = Bench()
    bench.request("T", KEYED)
    assert list(bench.rows(ASAP_CLAIMS)) == [
        "claim:282791f614dbc4c3347ac8637c7c88a164431f5734b55f349f380ff8ea3ae47f"
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"payload": {**KEYED, "skill_id": "index.drop"}},
        {"payload": KEYED, "sender": STRANGER},
        {"payload": {"config": {"idempotency_key": "nightly-4"}}},
    ],
)
def test_sender_skill_and_key_make_a_claim(other: Json) -> None:
    bench = Bench()
    bench.request("T", KEYED)
    assert bench.request("U", **other)["rule"] == "task_created"


def test_a_key_is_free_again_after_a_day() -> None:
    bench = Bench()
    bench.request("T", KEYED)
    assert bench.request("U", KEYED, at=START_MS + 24 * HOUR_MS)["verdict"] == "duplicate"
    assert bench.request("V", KEYED, at=START_MS + 24 * HOUR_MS + 1)["rule"] == "task_created"


def test_the_duplicate_has_the_response_delivered_again() -> None:
    bench = Bench()
    bench.request("T", KEYED)
    bench.request("U", KEYED)
    assert bench.inbox(PLANNER) == [], "there is no response yet"
    bench.respond(id="R")
    bench.request("V", KEYED)
    first, second = bench.inbox(PLANNER)
    assert first == second
    assert second["id"] == "R"
    header = [one.headers for one in bench.sent if one.key == PLANNER][-1]
    assert list(header) == [("headrace-answers", b"V")]


def test_what_is_sent_to_a_redirected_request_says_which_task_it_is() -> None:
    bench = Bench()
    bench.request("T", KEYED)
    bench.request("U", KEYED)
    fact = bench.worker("TaskUpdate", {"task_id": "U"})
    assert (fact["rule"], fact["task_id"]) == ("task_redirected", "T")
    later = bench.worker("TaskUpdate", {"task_id": "U"}, at=START_MS + 168 * HOUR_MS + 1)
    assert later["rule"] == "task_not_found"


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
    assert (links.AT_ONCE + 1) * largest <= STEP_BYTES


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
    asked = bench.decide(bench.record(requested("T", KEYED)))
    again = bench.advance_to(START_MS + 30_000)
    bench.settle([*asked, *again])
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
    asked = bench.decide(bench.record(requested("T", KEYED)))
    bench.request("U", KEYED)
    bench.fire(START_MS + 24 * HOUR_MS)
    assert "T" not in {f["envelope_id"] for f in bench.facts()}
    bench.settle(asked)
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


@pytest.mark.parametrize(
    ("check", "manifests", "accepted"),
    [
        ("auto", [], True),
        ("auto", [manifest(STRANGER)], False),
        ("auto", [manifest(INDEXER)], True),
        ("auto", [{**manifest(STRANGER), "version": "one"}], True),
        ("auto", [{**manifest(INDEXER), "version": "one"}, manifest(STRANGER)], False),
        ("always", [], False),
        ("always", [manifest(INDEXER)], True),
        ("never", [manifest(STRANGER)], True),
    ],
)
def test_a_recipient_has_a_manifest(check: str, manifests: list[Json], accepted: bool) -> None:
    bench = with_manifests(Bench(asap_recipient_check=check), *manifests)
    fact = bench.request()
    valid = [m["id"] for m in manifests if m["version"] == "1.0"]
    seen = {"recipient_known": INDEXER in valid, "manifests": len(valid)}
    assert fact["figures"].items() >= seen.items()
    assert fact["rule"] == ("task_created" if accepted else "agent_not_found")
    assert fact["asap_error"] == (None if accepted else "asap:routing/agent_not_found")


@pytest.mark.parametrize(
    ("check", "skills", "accepted"),
    [
        (True, ["index.build", "x"], True),
        (True, ["x"], False),
        (True, [], True),
        (False, ["x"], True),
    ],
)
def test_a_worker_has_the_skill(check: bool, skills: list[str], accepted: bool) -> None:
    bench = with_manifests(Bench(asap_skill_check=check), manifest(INDEXER, *skills))
    fact = bench.request()
    assert fact["rule"] == ("task_created" if accepted else "skill_not_found")
    assert fact["asap_error"] == (None if accepted else "asap:capability/skill_not_found")


def test_an_answer_may_stand_in_one_batch_with_what_it_lets_go() -> None:
    bench = Bench()
    (ask,) = bench.of(ASAP_LINKS, bench.decide(bench.record(requested("T", KEYED))))
    asked = bench.message(ask.value, bench.now, key=ask.key, avro=True, topic=ASAP_LINKS)
    (answer,) = bench.of(ASAP_LINKS, bench.decide(asked))
    answered = bench.message(answer.value, bench.now, key=answer.key, avro=True, topic=ASAP_LINKS)
    update = bench.record(envelope("TaskUpdate", {"task_id": "T", "status": "working"}, id="u"))
    cancel = bench.record(cancelled("c"))
    bench.decide(update, answered, cancel)
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
