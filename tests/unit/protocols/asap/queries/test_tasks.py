"""Tasks as HTTP shows them: one by any of its names, and lists."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.protocols.asap.queries.stage import (
    INDEXER,
    PARTS,
    PLANNER,
    artifact,
    cancel,
    manifest,
    message,
    query,
    request,
    response,
    text,
    tool_call,
    tool_result,
    update,
)
from tests.unit.views.bench import Bench

Json = dict[str, Any]
ENVELOPES = "asap.envelopes"
TASKS = "/v1/asap/tasks"


def worked(bench: Bench, **more: Any) -> None:
    """A task from its request to its response, with two snapshots on the way."""
    bench.send(
        ENVELOPES,
        request(**more),
        update("u1", save={"page": 1}, progress={"percent": 25}),
        update("u2", "paused", save={"page": 2}),
        response("r1", final_state={"data": {"page": 4}}),
    )


def refused(bench: Bench, path: str, query: str = "") -> tuple[int, str]:
    bench.view.catch_up(0)
    answer = bench.get(path, query)
    return answer.status, answer.body["rule"]


def test_a_task_is_shown_with_all_that_belongs_to_it(bench: Bench) -> None:
    worked(bench)
    body = bench.look(f"{TASKS}/t1")
    assert body["task"] == {
        "id": "t1",
        "conversation_id": "conv-7f",
        "parent_task_id": None,
        "status": "completed",
        "progress": {"percent": 25},
        "created_at": "2026-01-01T00:00:00.001000Z",
        "updated_at": "2026-01-01T00:00:00.004000Z",
    }
    assert list(body) == [
        *("task", "requester", "worker", "skill_id", "depth", "sequence", "state_mode"),
        *("event_retention_hours", "events_available", "timeout_at", "idempotency_key"),
        *("trace_id", "aliases", "input_request", "config", "response", "error_code"),
        *("snapshot_version", "snapshot_mark"),
    ]
    assert (body["requester"], body["worker"], body["depth"]) == (PLANNER, INDEXER, 0)
    assert (body["sequence"], body["snapshot_version"], body["snapshot_mark"]) == (4, 3, 3)
    assert body["response"]["id"] == "r1"
    assert body["response"]["payload"]["result"] == {"pages": 4}


def test_a_large_response_is_joined_from_its_event(bench: Bench) -> None:
    large = {"text": "x" * 50_000}
    bench.send(ENVELOPES, request(), response("r1", result=large))
    assert bench.look(f"{TASKS}/t1")["response"]["payload"]["result"] == large


def test_a_task_is_found_by_the_name_its_worker_has_for_it(bench: Bench) -> None:
    for number in (1, 2):
        foreign = update(f"u{number}", task=f"t{number}", task_id="job-5")
        bench.send(ENVELOPES, request(f"t{number}"), foreign)
    assert bench.look(f"{TASKS}/job-5")["task"]["id"] == "t2"
    assert bench.look(f"{TASKS}/job-5/events")["task_id"] == "t2"
    bench.send(ENVELOPES, request("job-5"))
    assert bench.look(f"{TASKS}/job-5")["task"]["id"] == "job-5"
    assert refused(bench, f"{TASKS}/job-6") == (404, "task_not_found")


def test_a_request_that_an_older_task_answers_leads_there(bench: Bench) -> None:
    once = {"idempotency_key": "nightly-3"}
    bench.send(ENVELOPES, request("t1", config=once))
    bench.send(ENVELOPES, request("t2", config=once))
    assert bench.look(f"{TASKS}/t2")["task"]["id"] == "t1"
    (verdict,) = bench.look("/v1/asap/envelopes/t2")["events"]
    assert (verdict["verdict"], verdict["rule"]) == ("duplicate", "same_idempotency_key")


def test_a_refused_request_is_no_task(bench: Bench) -> None:
    bench.send("asap.manifests", manifest())
    bench.send(ENVELOPES, request("t1", recipient="urn:asap:agent:nobody"))
    assert refused(bench, f"{TASKS}/t1") == (404, "task_not_found")
    (verdict,) = bench.look("/v1/asap/envelopes/t1")["events"]
    assert (verdict["verdict"], verdict["rule"]) == ("rejected", "agent_not_found")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["t1", "t2", "t3"]),
        ("status=submitted", ["t2", "t3"]),
        ("status=completed", ["t1"]),
        ("status=working", []),
        (f"worker={INDEXER}", ["t1", "t3"]),
        (f"worker={INDEXER}&status=submitted", ["t3"]),
        (f"requester={PLANNER}", ["t1", "t2"]),
        ("conversation_id=conv-8", ["t3"]),
        ("skill_id=index.build", ["t1", "t2", "t3"]),
        ("skill_id=other", []),
        ("parent_task_id=t1", ["t3"]),
    ],
)
def test_lists_of_tasks(bench: Bench, query: str, expected: list[str]) -> None:
    worked(bench)
    other = "urn:asap:agent:other"
    bench.send(ENVELOPES, request("t2", recipient=other))
    child = {"conversation_id": "conv-8", "parent_task_id": "t1"}
    bench.send(ENVELOPES, request("t3", sender=other, **child))
    page = bench.look(TASKS, query)
    assert [each["task"]["id"] for each in page["tasks"]] == expected
    assert page["cursor"] is None
    assert all("response" not in each for each in page["tasks"])


def test_lists_come_in_pages(bench: Bench) -> None:
    bench.send(ENVELOPES, *[request(f"t{number}") for number in range(5)])
    seen, cursor = [], ""
    while True:
        page = bench.look(TASKS, f"limit=2{cursor}")
        seen += [each["task"]["id"] for each in page["tasks"]]
        if page["cursor"] is None:
            break
        cursor = f"&cursor={page['cursor']}"
    assert seen == ["t0", "t1", "t2", "t3", "t4"]
    assert refused(bench, TASKS, "status=done")[0] == 422


@pytest.mark.parametrize("order", ["oldest", "newest"])
def test_lists_have_a_window_and_an_order(bench: Bench, order: str) -> None:
    bench.send(ENVELOPES, *(request(f"t{n}") for n in range(5)))
    times = [each["task"]["created_at"] for each in bench.look(TASKS)["tasks"]]
    base = f"order={order}&conversation_id=conv-7f&limit=2&from={times[1]}&to={times[4]}"
    names, query = [], base
    while True:
        page = bench.look(TASKS, query)
        names += [each["task"]["id"] for each in page["tasks"]]
        if page["cursor"] is None:
            break
        query = f"{base}&cursor={page['cursor']}"
    assert names == (["t1", "t2", "t3"] if order == "oldest" else ["t3", "t2", "t1"])
    assert refused(bench, TASKS, "order=random") == (422, "query_value")


def test_conversations_of_a_participant(bench: Bench) -> None:
    other = "urn:asap:agent:other"
    bench.send(
        ENVELOPES,
        request("t1", conversation_id="a"),
        request("t2", conversation_id="b", recipient=other),
        request("t3", conversation_id="b"),
        request("t4", conversation_id="c", sender=other),
    )
    path = "/v1/asap/conversations"

    def list_ids(query: str) -> list[str]:
        return [each["id"] for each in bench.look(path, query)["items"]]

    assert list_ids(f"participant={PLANNER}") == ["a", "b"]
    assert list_ids(f"participant={INDEXER}") == ["a", "b", "c"]
    assert list_ids(f"participant={other}") == ["b", "c"]
    assert list_ids("participant=urn:asap:agent") == []
    rows = bench.look(path)["items"]
    assert bench.look(path, f"participant={other}")["items"] == rows[1:]
    page = bench.look(path, f"participant={INDEXER}&limit=2")
    assert list_ids(f"participant={INDEXER}&cursor={page['next']}") == ["c"]
    assert refused(bench, path, f"participant={other}&cursor={page['next']}")[0] == 422


def test_verdicts_on_an_envelope_in_log_order(bench: Bench) -> None:
    bench.send(ENVELOPES, request(), request(), request(input={"pages": 5}))
    bench.send(ENVELOPES, {**cancel("t1"), "sender": INDEXER, "recipient": PLANNER})
    events = bench.look("/v1/asap/envelopes/t1")["events"]
    assert [event["rule"] for event in events] == [
        "task_created",
        "same_envelope",
        "id_conflict",
        "not_participant",
    ]
    mine = bench.look("/v1/asap/envelopes/t1", f"sender={INDEXER}")["events"]
    assert [event["rule"] for event in mine] == ["not_participant"]
    assert bench.look("/v1/asap/envelopes/nothing") == {"events": []}


def test_events_of_a_task(bench: Bench) -> None:
    worked(bench)
    bench.send(ENVELOPES, cancel("c1"))
    page = bench.look(f"{TASKS}/t1/events", "limit=3")
    assert [event["sequence"] for event in page["events"]] == [1, 2, 3]
    assert (page["task_id"], page["state_mode"]) == ("t1", "snapshot")
    second_page = bench.look(f"{TASKS}/t1/events", f"cursor={page['cursor']}")
    assert [event["rule"] for event in second_page["events"]] == ["response_recorded"]
    assert second_page["cursor"] is None
    assert second_page["events"][0]["transitions"] == [
        {"from_status": "paused", "to_status": "working", "implied": True},
        {"from_status": "working", "to_status": "completed", "implied": False},
    ]


def test_messages_and_artifacts_have_their_parts(bench: Bench) -> None:
    known = {PARTS: [{"id": "p1", "part": text("one")}]}
    bench.send(
        ENVELOPES,
        request(),
        message("m1", ["p1", text("two"), "p9"], extensions=known),
        message("m2", ["m1#1", "p1"]),
        artifact("a1", {"p1": text("another"), "p2": {"type": "data", "data": {"n": 3}}}),
        artifact("a2", {}, name="empty"),
    )
    first, second = bench.look(f"{TASKS}/t1/messages")["messages"]
    assert first == {
        "id": "m-m1",
        "task_id": "t1",
        "sender": PLANNER,
        "role": "user",
        "parts": [text("one"), text("two"), "p9"],
        "timestamp": "2026-01-01T00:00:00Z",
    }
    assert second["parts"] == [text("two"), text("one")]
    made, empty = bench.look(f"{TASKS}/t1/artifacts")["artifacts"]
    assert (made["id"], made["name"]) == ("a-a1", "")
    third = {"type": "data", "data": {"n": 3}, "schema_uri": None}
    assert made["parts"] == [text("one"), third]
    assert (empty["name"], empty["parts"]) == ("empty", [])
    assert empty["created_at"] == "2026-01-01T00:00:00.005000Z"


def test_calls_and_their_answers(bench: Bench) -> None:
    bench.send(ENVELOPES, tool_call("c1"))
    call = bench.look("/v1/asap/calls/call-1")
    assert (call["kind"], call["state"], call["answer"]) == ("tool", "open", None)
    assert (call["caller"], call["callee"], call["closed_at"]) == (PLANNER, INDEXER, None)
    bench.send(ENVELOPES, tool_result("c2", "c1"))
    call = bench.look("/v1/asap/calls/call-1")
    assert (call["state"], call["answer"]["id"]) == ("answered", "c2")
    assert call["opened_at"] < call["closed_at"]
    assert refused(bench, "/v1/asap/calls/call-2") == (404, "call_not_found")


def test_a_call_that_nobody_answers(bench: Bench) -> None:
    bench.send(ENVELOPES, tool_call("c1"))
    bench.now += 600_000
    bench.host.run()
    call = bench.look("/v1/asap/calls/call-1")
    assert (call["state"], call["answer"]) == ("timed_out", None)
    assert call["closed_at"] is not None


def test_conversations_come_by_id_page_by_page(bench: Bench) -> None:
    ids = ["conv-7f", "conv-8", "conv-8", "conv-9"]
    requests = [request(f"t{n}", conversation_id=id) for n, id in enumerate(ids)]
    bench.send("asap.envelopes", *requests)
    path = "/v1/asap/conversations"
    rows = bench.look(path)["items"]
    assert [(each["id"], each["tasks"]) for each in rows] == [
        ("conv-7f", 1),
        ("conv-8", 2),
        ("conv-9", 1),
    ]
    tasks = bench.look("/v1/asap/tasks", "conversation_id=conv-8")["tasks"]
    times = [each["task"]["created_at"] for each in tasks]
    assert [rows[1]["created_at"], rows[1]["last_created_at"]] == times
    page = bench.look(path, "limit=2")
    assert page["items"] == rows[:2]
    assert bench.look(path, f"cursor={page['next']}") == {"items": rows[2:], "next": None}


def test_a_conversation(bench: Bench) -> None:
    other = "urn:asap:agent:other"
    bench.send(ENVELOPES, request("t2"), request("t1", recipient=other))
    bench.send(ENVELOPES, request("t0", sender=other, recipient=PLANNER))
    conversation = bench.look("/v1/asap/conversations/conv-7f")
    assert conversation == {
        "conversation": {
            "id": "conv-7f",
            "participants": [PLANNER, INDEXER, other],
            "created_at": "2026-01-01T00:00:00.001000Z",
            "metadata": None,
        },
        "tasks": ["t2", "t1", "t0"],
    }
    assert refused(bench, "/v1/asap/conversations/x") == (404, "conversation_not_found")


def test_agents_by_their_manifests(bench: Bench) -> None:
    bench.send("asap.manifests", manifest(), manifest(PLANNER, name="Planner"))
    page = bench.look("/v1/asap/agents", "limit=1")
    assert [agent["id"] for agent in page["agents"]] == [INDEXER]
    second_page = bench.look("/v1/asap/agents", f"cursor={page['cursor']}")
    assert [agent["name"] for agent in second_page["agents"]] == ["Planner"]
    agent_row = bench.look(f"/v1/asap/agents/{INDEXER}")
    assert agent_row["capabilities"]["asap_version"] == "0.1"
    assert agent_row["signature"] is None
    gone = bench.routes.handle("DELETE", f"/v1/asap/agents/{INDEXER}")
    assert (gone.status, list(gone.body)) == (202, ["position"])
    bench.host.run()
    assert refused(bench, f"/v1/asap/agents/{INDEXER}") == (404, "agent_not_found")


def test_state_queries_leave_no_snapshot(bench: Bench) -> None:
    bench.send(ENVELOPES, request(), query("q1"))
    body = bench.look(f"{TASKS}/t1/snapshots")
    assert body == {"task_id": "t1", "snapshot_mark": 0, "snapshots": []}
