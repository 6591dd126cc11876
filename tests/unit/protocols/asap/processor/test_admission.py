"""From a TaskRequest to its task: recipient, skill, depth and idempotency key (ASAP guide, 5.3)."""

from __future__ import annotations

import pytest

from tests.unit.protocols.asap.processor.requests import (
    HOUR_MS,
    KEYED,
    Json,
    child,
    manifest,
    requested,
    waiting,
    with_manifests,
)
from tests.unit.protocols.asap.processor.support import (
    CONVERSATION,
    INDEXER,
    PLANNER,
    START_MS,
    STRANGER,
    Bench,
)
from topology.asap import ASAP_ADMISSIONS, ASAP_CLAIMS, ASAP_LINKS


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
