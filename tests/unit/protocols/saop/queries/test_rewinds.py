"""Ordering rewinds through the routes, and asking about them."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from tests.unit.protocols.saop.queries.stage import ask, items, move, post, pulse, routes_of
from tests.unit.views.bench import Bench

SESSION = "/v1/saop/sessions/s%2F9"
REWIND = f"{SESSION}/rewind"
PLAN = f"{SESSION}/rewind-plan"
ID = "11111111-2222-4333-8444-ABCDEFABCDEF"


@pytest.fixture
def session_bench(bench: Bench) -> Bench:
    """The worked example of the spec: A completed, then B, then C at work."""
    session = "s/9"
    bench.send(
        "rtes.raw",
        move(session, "A", "PENDING", "IN_PROGRESS"),
        move(session, "A", "IN_PROGRESS", "COMPLETED", git_hash="5c0ffee1"),
        move(session, "B", "PENDING", "IN_PROGRESS"),
        move(session, "B", "IN_PROGRESS", "COMPLETED", git_hash="beef0001"),
        move(session, "C", "PENDING", "IN_PROGRESS"),
        move(session, "D", "PENDING", "IN_PROGRESS"),
        move(session, "D", "IN_PROGRESS", "PENDING"),
        move(session, "E", "PENDING", "IN_PROGRESS"),
        move(session, "E", "IN_PROGRESS", "FAILED", git_hash="beef0002"),
    )
    return bench


def rewind_of(bench: Bench, rewind_id: str = ID) -> tuple[int, Any]:
    bench.view.catch_up(0)
    answer = bench.get(f"{SESSION}/rewinds/{rewind_id}")
    return answer.status, answer.body


def test_a_rewind_is_applied_and_answered(session_bench: Bench) -> None:
    answer = post(session_bench, REWIND, {"task_id": "A", "reason": "wrong way"})
    assert answer.status == 200
    fact = answer.body
    assert (fact["verdict"], fact["rule"], fact["state"]) == (
        "accepted",
        "rewind_applied",
        "applied",
    )
    assert (fact["target_task_id"], fact["git_hash"], fact["cut_sequence"]) == ("A", "5c0ffee1", 2)
    assert [(m["task_id"], m["to_state"], m["sequence"]) for m in fact["moved"]] == [
        ("A", "IN_PROGRESS", 10),
        ("B", "PENDING", 11),
        ("C", "PENDING", 12),
        ("E", "PENDING", 13),
    ]
    assert fact["unchanged"] == ["D"]
    assert uuid.UUID(fact["rewind_id"]).version == 4
    assert fact["requested_by"] == "unauthenticated"
    assert rewind_of(session_bench, fact["rewind_id"]) == (200, fact)
    tasks = ask(session_bench, "/v1/saop/tasks", session_id="s/9")["items"]
    assert {task["state"] for task in tasks} == {"IN_PROGRESS", "PENDING"}


def test_a_rewind_in_two_steps(session_bench: Bench) -> None:
    body = {"git_hash": "5C0FFEE1", "phase": "prepare", "rewind_id": ID}
    prepared = post(session_bench, REWIND, json.dumps(body).encode())
    assert (prepared.status, prepared.body["state"]) == (200, "prepared")
    assert prepared.body["git_hash"] == "5c0ffee1"
    assert {move["sequence"] for move in prepared.body["moved"]} == {None}
    assert rewind_of(session_bench)[1] == prepared.body
    confirmed = post(session_bench, f"{SESSION}/rewinds/{ID}/confirm")
    assert (confirmed.status, confirmed.body["state"]) == (200, "applied")
    assert rewind_of(session_bench, ID.lower()) == (200, confirmed.body)
    again = post(session_bench, f"{SESSION}/rewinds/{ID}/confirm", b"")
    assert (again.status, again.body["verdict"]) == (200, "duplicate")
    assert rewind_of(session_bench) == (200, confirmed.body)
    late = post(session_bench, f"{SESSION}/rewinds/{ID}/abort")
    assert (late.status, late.body["rule"]) == (409, "rewind_already_applied")
    assert late.body["fact"]["state"] == "applied"


def test_a_rewind_that_is_given_up(session_bench: Bench) -> None:
    post(session_bench, REWIND, {"task_id": "A", "phase": "prepare", "rewind_id": ID})
    aborted = post(session_bench, f"{SESSION}/rewinds/{ID}/abort")
    assert (aborted.status, aborted.body["state"]) == (200, "aborted")
    late = post(session_bench, f"{SESSION}/rewinds/{ID}/confirm")
    assert (late.status, late.body["rule"]) == (409, "rewind_aborted")
    assert rewind_of(session_bench) == (200, aborted.body)


def test_a_rewind_that_lapses(session_bench: Bench) -> None:
    post(session_bench, REWIND, {"task_id": "A", "phase": "prepare", "rewind_id": ID})
    session_bench.now += 600_000
    session_bench.host.run()
    status, fact = rewind_of(session_bench)
    assert (status, fact["rule"], fact["state"]) == (200, "lapsed", "lapsed")
    late = post(session_bench, f"{SESSION}/rewinds/{ID}/confirm")
    assert (late.status, late.body["rule"]) == (409, "rewind_lapsed")


REFUSALS = [
    ({"task_id": "Z"}, 404, "task_unknown"),
    ({"task_id": "C", "phase": "prepare"}, 404, "task_without_hash"),
    ({"git_hash": "abcdef0"}, 404, "hash_unknown"),
    ({"git_hash": "beef0"}, 404, "hash_unknown"),
    ({"git_hash": "beef000"}, 409, "hash_ambiguous"),
]


@pytest.mark.parametrize(("body", "status", "rule"), REFUSALS)
def test_a_refusal(session_bench: Bench, body: dict[str, Any], status: int, rule: str) -> None:
    answer = post(session_bench, REWIND, body)
    assert (answer.status, answer.body["rule"]) == (status, rule)
    assert answer.body["status"] == status
    fact = answer.body["fact"]
    assert (fact["verdict"], fact["rule"]) == ("rejected", rule)
    assert rewind_of(session_bench, fact["rewind_id"])[0] == 404


@pytest.mark.parametrize(("body", "status", "rule"), REFUSALS)
def test_a_plan_is_refused_like_the_rewind(
    session_bench: Bench, body: dict[str, Any], status: int, rule: str
) -> None:
    (name,) = {"task_id", "git_hash"} & set(body)
    session_bench.view.catch_up(0)
    answer = session_bench.get(PLAN, f"{name}={body[name]}")
    if rule == "task_without_hash":
        assert (answer.status, answer.body["git_hash"]) == (200, None)
    else:
        assert (answer.status, answer.body["rule"]) == (status, rule)


def test_a_session_that_is_not_there(session_bench: Bench) -> None:
    answer = post(session_bench, "/v1/saop/sessions/nowhere/rewind", {"task_id": "A"})
    assert (answer.status, answer.body["rule"]) == (404, "session_unknown")
    answer = session_bench.get("/v1/saop/sessions/nowhere/rewind-plan", "task_id=A")
    assert (answer.status, answer.body["rule"]) == (404, "session_unknown")


def test_a_session_of_refused_events_only_is_not_there(session_bench: Bench) -> None:
    session_bench.send("rtes.raw", move("odd", "A", "NOWHERE", "PENDING"))
    session_bench.view.catch_up(0)
    answer = session_bench.get("/v1/saop/sessions/odd/rewind-plan", "task_id=A")
    assert (answer.status, answer.body["rule"]) == (404, "session_unknown")


def test_another_rewind_is_prepared(session_bench: Bench) -> None:
    post(session_bench, REWIND, {"task_id": "A", "phase": "prepare", "rewind_id": ID})
    answer = post(session_bench, REWIND, {"task_id": "B"})
    assert (answer.status, answer.body["rule"]) == (409, "rewind_in_progress")


def test_another_rewind_of_that_id(session_bench: Bench) -> None:
    post(session_bench, REWIND, {"task_id": "A", "rewind_id": ID})
    answer = post(session_bench, REWIND, {"task_id": "B", "rewind_id": ID})
    assert (answer.status, answer.body["rule"]) == (409, "rewind_conflict")


def test_a_rewind_that_was_never_prepared(session_bench: Bench) -> None:
    for what in ("confirm", "abort"):
        answer = post(session_bench, f"{SESSION}/rewinds/{ID}/{what}")
        assert (answer.status, answer.body["rule"]) == (409, "rewind_unknown")
    assert rewind_of(session_bench)[0] == 404


def test_a_plan_is_what_a_rewind_then_does(session_bench: Bench) -> None:
    plan = ask(session_bench, PLAN, task_id="A")
    assert session_bench.records("saop.rewinds") == []
    fact = post(session_bench, REWIND, {"task_id": "A"}).body
    assert sorted(plan) == ["cut_sequence", "git_hash", "moved", "target_task_id", "unchanged"]
    assert [m | {"sequence": None} for m in fact["moved"]] == plan["moved"]
    assert {name: fact[name] for name in plan if name != "moved"} == {
        name: plan[name] for name in plan if name != "moved"
    }


@pytest.mark.parametrize(
    ("body", "rule", "path"),
    [
        ({}, "schema_invalid", "/task_id"),
        ({"task_id": "A", "git_hash": "beef0001"}, "schema_invalid", "/git_hash"),
        ({"task_id": "A", "phase": "confirm"}, "schema_invalid", "/phase"),
        ({"task_id": "A", "phase": None}, "schema_invalid", "/phase"),
        ({"task_id": 3}, "schema_invalid", "/task_id"),
        ({"task_id": "A", "rewind_id": "x"}, "rewind_id_invalid", "/rewind_id"),
        ({"task_id": "A", "rewind_id": None}, "schema_invalid", "/rewind_id"),
        ({"task_id": "A", "reason": 7}, "schema_invalid", "/reason"),
        ([], "schema_invalid", ""),
        (b"{", "json_invalid", ""),
        (b"", "json_invalid", ""),
    ],
)
def test_a_bad_order_is_not_written(session_bench: Bench, body: Any, rule: str, path: str) -> None:
    answer = post(session_bench, REWIND, body)
    assert (answer.status, answer.body["rule"], answer.body["path"]) == (422, rule, path)
    assert session_bench.records("saop.rewinds") == []


def test_a_bad_id_in_the_path(session_bench: Bench) -> None:
    answer = post(session_bench, f"{SESSION}/rewinds/x/confirm")
    assert (answer.status, answer.body["rule"]) == (422, "rewind_id_invalid")


def test_nobody_orders_in_anothers_name(session_bench: Bench) -> None:
    body = {"task_id": "A", "requested_by": "root", "session_id": "other", "colour": "red"}
    answer = post(session_bench, REWIND, body)
    assert (answer.status, answer.body["session_id"]) == (200, "s/9")
    assert answer.body["requested_by"] == "unauthenticated"


def test_an_answer_that_is_late_names_the_position(session_bench: Bench) -> None:
    answer = session_bench.routes.handle("POST", REWIND, "", {}, {"task_id": "A"})
    assert (answer.status, answer.body["rule"]) == (504, "not_seen_in_time")
    assert answer.body["position"].startswith("saop.rewinds/")
    session_bench.host.run()
    tasks = ask(session_bench, "/v1/saop/tasks", session_id="s/9", after=answer.body["position"])
    assert tasks["items"][0]["state"] == "IN_PROGRESS"


@pytest.mark.parametrize("query", ["", "task_id=A&git_hash=beef0001"])
def test_a_plan_has_one_target(session_bench: Bench, query: str) -> None:
    assert session_bench.get(PLAN, query).status == 422


def test_the_trace_context_goes_with_the_order(session_bench: Bench) -> None:
    context = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    headers = {"Traceparent": context}
    routes_of(session_bench).handle("POST", REWIND, "", headers, {"task_id": "A"})
    (record,) = session_bench.records("saop.rewinds")
    assert ("traceparent", context.encode()) in list(record.headers)


def test_events_of_a_rewind_are_found_by_their_task(session_bench: Bench) -> None:
    session_bench.send("rtes.raw", pulse("s/9"))
    fact = post(session_bench, REWIND, {"task_id": "A"}).body
    events = ask(
        session_bench, "/v1/rtes/events", session_id="s/9", task_id="B", type="TASK_TRANSITION"
    )
    last = events["items"][-1]
    assert (last["rule"], last["rewind_id"]) == ("rewind", fact["rewind_id"])


LIST = "/v1/saop/rewinds"
OTHER_ID = "22222222-2222-4333-8444-abcdefabcdef"


@pytest.fixture
def rewinds(session_bench: Bench) -> dict[str, Any]:
    """Rewinds of two sessions in different states; returns the newest fact of each."""
    bench = session_bench
    bench.send("rtes.raw", move("other", "A", "PENDING", "IN_PROGRESS", git_hash="0ddba11"))
    orders = [
        (SESSION, {"task_id": "A", "phase": "prepare", "rewind_id": ID}, "confirm"),
        (SESSION, {"task_id": "B", "phase": "prepare", "rewind_id": OTHER_ID}, "abort"),
        ("/v1/saop/sessions/other", {"task_id": "A", "phase": "prepare", "rewind_id": ID}, None),
        (SESSION, {"git_hash": "beef0001"}, None),
    ]
    facts = {}
    for path, body, end in orders:
        fact = post(bench, f"{path}/rewind", body).body
        if end is not None:
            fact = post(bench, f"{path}/rewinds/{body['rewind_id']}/{end}").body
        facts[end or fact["session_id"]] = fact
    assert post(bench, REWIND, {"task_id": "Z"}).status == 404
    assert post(bench, f"{SESSION}/rewinds/{ID}/confirm").body["verdict"] == "duplicate"
    return facts


def test_rewinds_are_listed_by_when_they_were_made(
    session_bench: Bench, rewinds: dict[str, Any]
) -> None:
    listed = items(session_bench, LIST)
    assert listed == [rewinds[name] for name in ("s/9", "other", "abort", "confirm")]
    states = ["applied", "prepared", "aborted", "applied"]
    assert [fact["state"] for fact in listed] == states


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({"session_id": "s/9"}, ["s/9", "abort", "confirm"]),
        ({"session_id": "other"}, ["other"]),
        ({"session_id": "nowhere"}, []),
        ({"task_id": "A"}, ["other", "confirm"]),
        ({"task_id": "A", "session_id": "s/9"}, ["confirm"]),
        ({"state": "applied"}, ["s/9", "confirm"]),
        ({"state": "prepared"}, ["other"]),
        ({"state": "aborted", "task_id": "B"}, ["abort"]),
        ({"state": "lapsed"}, []),
    ],
)
def test_rewinds_are_listed_by_session_target_and_state(
    session_bench: Bench, rewinds: dict[str, Any], filters: dict[str, str], names: list[str]
) -> None:
    assert items(session_bench, LIST, **filters) == [rewinds[name] for name in names]


def test_a_rewind_that_lapses_is_listed_as_lapsed(
    session_bench: Bench, rewinds: dict[str, Any]
) -> None:
    session_bench.now += 600_000
    session_bench.host.run()
    assert items(session_bench, LIST, state="prepared") == []
    (lapsed,) = items(session_bench, LIST, state="lapsed")
    assert (lapsed["session_id"], lapsed["rewind_id"]) == ("other", ID)
    assert rewinds["other"]["rewind_id"] == ID


def test_rewinds_are_listed_by_when_they_were_first_ordered(
    session_bench: Bench, rewinds: dict[str, Any]
) -> None:
    start, end = rewinds["other"]["at"], rewinds["s/9"]["at"]
    assert items(session_bench, LIST, **{"from": start, "to": end}) == [rewinds["other"]]
    earlier = [rewinds["abort"], rewinds["confirm"]]
    assert items(session_bench, LIST, to=start) == earlier
    assert rewinds["abort"]["at"] < start
    between = {"from": rewinds["confirm"]["at"], "to": rewinds["abort"]["at"]}
    assert items(session_bench, LIST, **between) == [rewinds["abort"]]


@pytest.mark.parametrize("query", ["state=none", "state=APPLIED", "limit=0", "cursor=eA"])
def test_a_list_of_rewinds_refuses(session_bench: Bench, query: str) -> None:
    answer = session_bench.get(LIST, query)
    assert (answer.status, answer.body["path"]) == (422, query.partition("=")[0])
