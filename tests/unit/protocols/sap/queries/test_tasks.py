"""`GET /v1/sap/tasks/{taskId}`: exactly the members of the guide, whatever is known."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.protocols.sap.queries.stage import (
    TRACE,
    SapInboxAgent,
    cached,
    result,
    signal,
    task,
)
from tests.unit.views.bench import Bench
from topology.sap import SAP_TASKS

MEMBERS = (
    *("taskId", "correlationId", "parentTaskId", "state", "position", "acceptedAt", "startedAt"),
    *("updatedAt", "closedAt", "deadline", "issuer", "target", "producer", "cache"),
    *("heuristicsVersion", "constitution", "lastAlignment", "errorCode", "acks", "outcomes"),
    "task",
)
CACHE = (
    *("mode", "maxAgeSec", "mustAlign", "cacheKey", "fingerprint", "removedKeys", "state"),
    *("leader", "hitVersion", "storedVersion", "storeRefused"),
)


def look(bench: Bench, task_id: str, query: str = "") -> Any:
    return bench.look(f"/v1/sap/tasks/{task_id}", query)


def test_an_accepted_task_has_all_members(bench: Bench) -> None:
    parent = "0000aaaa-0000-0000-0000-000000000000"
    of = cached(parentTaskId=parent, telemetry={"deadline": "2030-01-01T00:00:00Z"}, colour="red")
    (position,) = bench.send("sap.tasks", of)
    body = look(bench, of["taskId"])
    assert tuple(body) == MEMBERS
    assert tuple(body["cache"]) == CACHE
    assert (body["state"], body["position"], body["closedAt"]) == ("QUEUED", position, None)
    assert (body["parentTaskId"], body["deadline"]) == (parent, "2030-01-01T00:00:00Z")
    assert body["acceptedAt"] == "2026-01-01T00:00:00.001Z"
    assert body["task"] == of
    assert [ack["position"] for ack in body["acks"]] == [position]
    assert body["outcomes"] == []
    assert (body["cache"]["state"], body["cache"]["leader"]) == ("missed", True)


def test_outcomes_are_by_seq_and_acks_by_time(bench: Bench, inbox_agent: SapInboxAgent) -> None:
    of = cached()
    bench.send("sap.tasks", of)
    inbox_agent.work()
    bench.send("sap.tasks", of)
    bench.send("sap.signals", signal(of, rating=4), signal(of, rating=4))
    body = look(bench, of["taskId"])
    assert [o["meta"]["headrace"]["seq"] for o in body["outcomes"]] == [1, 2]
    assert [o["status"] for o in body["outcomes"]] == ["RUNNING", "SUCCEEDED"]
    assert [(ack["subject"], ack["verdict"]) for ack in body["acks"]] == [
        ("TASK", "accepted"),
        ("RESULT", "accepted"),
        ("RESULT", "accepted"),
        ("TASK", "duplicate"),
        ("SIGNAL", "accepted"),
        ("SIGNAL", "duplicate"),
    ]
    assert body["producer"] == {"agentId": "A-ml-001", "agentKind": "agent"}
    assert (body["state"], body["cache"]["storedVersion"]) == ("SUCCEEDED", 1)


def test_a_task_is_found_in_any_case(bench: Bench) -> None:
    of = task()
    of["taskId"] = of["taskId"].upper()
    bench.send("sap.tasks", of)
    for spelling in (of["taskId"], of["taskId"].lower()):
        body = look(bench, spelling)
        assert body["taskId"] == of["taskId"].lower()
        assert body["task"]["taskId"] == of["taskId"]


def test_of_a_refused_task_only_the_refusals_are_known(bench: Bench) -> None:
    of = task()
    bench.send("sap.results", result(of))
    body = look(bench, of["taskId"])
    assert tuple(body) == MEMBERS
    known = {"taskId": of["taskId"], "correlationId": TRACE, "outcomes": []}
    assert {k: v for k, v in body.items() if v is not None and k != "acks"} == known
    assert [ack["rule"] for ack in body["acks"]] == ["unknown_task"]


def test_a_task_of_which_nothing_is_known(bench: Bench) -> None:
    for id_text in (task()["taskId"], "nothing", "%FF"):
        answer = bench.get(f"/v1/sap/tasks/{id_text}")
        assert answer.status == 404


def test_after_a_position_the_verdict_is_seen(bench: Bench) -> None:
    of = task()
    (position,) = bench.append("sap.tasks", of)
    path = f"/v1/sap/tasks/{of['taskId']}"
    assert bench.get(path, f"after={position}").status == 504
    bench.host.run()
    assert bench.get(path, f"after={position}").body["state"] == "QUEUED"


def test_bytes_that_are_no_task_are_answered_by_their_dead_letter(bench: Bench) -> None:
    position = bench.send_bytes("sap.tasks", b"\0nonsense", b"k")
    of = task()
    bench.send("sap.tasks", of)
    assert look(bench, of["taskId"], f"after={position}")["state"] == "QUEUED"
    assert len(bench.records(f"{SAP_TASKS.name}.dlq")) == 1


def test_a_rebuilt_view_answers_the_same(bench: Bench, inbox_agent: SapInboxAgent) -> None:
    of = cached()
    bench.send("sap.tasks", of)
    inbox_agent.work()
    before = look(bench, of["taskId"])
    bench.view.close()
    bench.folder = bench.folder / "again"
    bench.view = bench.open_view()
    assert look(bench, of["taskId"]) == before


@pytest.mark.parametrize("query", ["after=apc.events/0/1", "limit=3", "after=sap.outcomes/0/1"])
def test_a_bad_query_is_refused(bench: Bench, query: str) -> None:
    answer = bench.get(f"/v1/sap/tasks/{task()['taskId']}", query)
    assert (answer.status, answer.body["rule"]) == (422, "query_value")
