"""Requests of SAP in a scenario: a wait that is not met at once is answered as timed out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streams.play.scenario import play
from streams.settings import Settings
from tests.unit.protocols.sap.queries.stage import cached, result, task, task_id

Json = dict[str, Any]
WAIT = {"Prefer": "wait=5"}


def run(*lines: Json) -> list[Json]:
    return list(play([json.dumps(line) for line in lines], Settings(partitions=1)))


def posted(path: str, body: Any, **headers: str) -> Json:
    return {"query": f"POST /v1/sap/{path}", "headers": headers or WAIT, "body": body}


def answers(*lines: Json) -> list[tuple[int, Json]]:
    return [(line["status"], line["body"]) for line in run(*lines) if "query" in line]


def test_a_wait_that_is_met_at_once() -> None:
    refused = task(1, context__constraints=["no banned words"], payload={"say": "x"})
    only = cached(2, "only")
    (status, outcome), (other, _) = answers(posted("tasks", only), posted("tasks", refused))
    assert (status, outcome["status"], outcome["error"]["code"]) == (200, "FAILED", "CACHE_MISS")
    assert other == 202


def test_a_wait_that_is_not_met_at_once_is_timed_out() -> None:
    lines = (
        posted("tasks", task(1)),
        posted("results", result(task(1), output=1)),
        posted("tasks", task(1)),
        {"query": f"GET /v1/sap/tasks/{task_id(1)}"},
    )
    responses = answers(*lines)
    assert responses[0] == (
        202,
        {"positions": ["sap.tasks/0/0"], "taskId": task_id(1), "state": "QUEUED"},
    )
    assert (responses[1][0], responses[1][1]["verdict"]) == (200, "accepted")
    assert (responses[2][0], responses[2][1]["status"]) == (200, "SUCCEEDED")
    assert responses[3][1]["state"] == "SUCCEEDED"
    assert run(*lines) == run(*lines)


def test_a_refusal_has_its_status() -> None:
    ((status, ack),) = answers(posted("results", result(task(1))))
    assert (status, ack["rule"], ack["status"]) == (404, "unknown_task", "NACK")


def test_a_header_must_agree() -> None:
    wrong = {"x-correlation-id": "00000000-0000-0000-0000-000000000000"}
    ((status, body),) = answers(posted("tasks", task(1), **wrong))
    assert (status, body["rule"]) == (422, "correlation_mismatch")


@pytest.mark.parametrize(
    ("policy", "rule"),
    [({"maxAgeSec": 60.5}, "out_of_range"), ({"maxAgeSec": 1e30}, "out_of_range")],
)
def test_what_avro_cannot_carry_gets_the_edges_answer(policy: Json, rule: str) -> None:
    value = task(constitutionalContext={"pressureLevel": "instant", "cachePolicy": policy})
    line = {"topic": "sap.tasks", "value": value}
    (as_user,), (as_service,) = run(line), run({**line, "as": "service"})
    assert as_user == as_service
    assert as_user["rejected"]["rule"] == rule


@pytest.mark.parametrize("rating", [3.5, 2**40])
def test_a_rating_that_avro_cannot_carry_is_a_bad_signal(rating: float) -> None:
    value = {
        "protocolVersion": "2.0",
        "signalId": task_id(9),
        "taskId": task_id(1),
        "correlationId": task_id(8),
        "sentAt": "2026-01-01T00:00:00Z",
        "operator": {"agentId": "ana", "agentKind": "user"},
        "kind": "rating",
        "rating": rating,
    }
    (output,) = run({"topic": "sap.signals", "as": "service", "value": value})
    assert (output["rejected"]["rule"], output["rejected"]["path"]) == ("bad_signal", "/rating")
