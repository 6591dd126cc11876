"""What ASAP's routes answer has the shape that the OpenAPI document gives it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.gateway.bench import GatewayBench
from tests.unit.gateway.test_answers import BY_NAME
from tests.unit.protocols.asap.queries.stage import (
    INDEXER,
    artifact,
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
from tests.unit.protocols.sap.routes.test_responses import conforms, get_valid_json

Json = dict[str, Any]
ENVELOPES = "/v1/asap/envelopes"
PARTS = [
    text("x"),
    {"type": "data", "data": {"n": [1, None]}},
    {"type": "file", "uri": "file:///x", "mime_type": "text/plain", "inline_data": "aGk="},
    {"type": "resource", "resource_uri": "mcp://x"},
    {"type": "template", "template": "{x}", "variables": {}},
    "p9",
]


@pytest.fixture
def seeded_gateway(gateway: GatewayBench) -> GatewayBench:
    """Tasks of both kinds, with everything that may belong to one; calls; agents."""
    urn = manifest()["id"]
    others = {"auth": {"schemes": ["bearer"], "oauth2": {"x": 1}}, "signature": "s"}
    for path, value in (
        (f"/v1/asap/agents/{urn}", manifest()),
        ("/v1/asap/agents/urn:asap:agent:planner", manifest("urn:asap:agent:planner", **others)),
    ):
        put = gateway.ask("PUT", path, json=value)
        assert put.status_code == 202
        conforms(put, "put", "/v1/asap/agents/{urn}")
    once = {"idempotency_key": "k", "event_retention_hours": 3}
    gateway.send(ENVELOPES, request("t1", config=once))
    gateway.send(
        ENVELOPES,
        update("u1", save={"page": 1}, progress={"percent": 5}, task_id="job-5"),
        update("u2", "input_required", update_type="input_required", input_request={"prompt": "?"}),
        message("m1", PARTS),
        artifact("a1", {"p1": text("made")}),
        query("q1"),
        response("r1", final_state={"data": {"page": 4}}, metrics={"s": 1.5}),
        response("r2"),
        request("t2", config={"state_mode": "event-sourced"}, parent_task_id="t1"),
        update("u3", save=[{"patch": {"x": 1}}], task="t2"),
        tool_call("c1"),
        tool_result("c2", "c1"),
        tool_call("c3", "call-2"),
        request("t3", config=once),
    )
    position = gateway.send(ENVELOPES, request("t4"))
    gateway.get("/v1/asap/tasks/t4", after=position)
    return gateway


def test_tasks_are_as_described(seeded_gateway: GatewayBench) -> None:
    task_ids = [
        get_valid_json(seeded_gateway, "get_asap_task", id=id)["task"]["id"]
        for id in ("t1", "job-5", "t3")
    ]
    assert task_ids == ["t1"] * 3
    assert len(get_valid_json(seeded_gateway, "list_asap_tasks")["tasks"]) == 3
    assert get_valid_json(seeded_gateway, "get_asap_task", "?at=2", id="t2")["state"]["data"] == {
        "x": 1
    }
    assert get_valid_json(seeded_gateway, "list_task_events", id="t1")["events"]
    assert get_valid_json(seeded_gateway, "list_task_events", "?at=2", id="t2")["version"] == 2


def test_what_belongs_to_tasks_is_as_described(seeded_gateway: GatewayBench) -> None:
    assert len(get_valid_json(seeded_gateway, "list_snapshots", id="t1")["snapshots"]) == 2
    assert get_valid_json(seeded_gateway, "get_snapshot", id="t1", version="latest")["data"] == {
        "page": 4
    }
    assert get_valid_json(seeded_gateway, "get_snapshot", id="t2", version="2")["id"] == "t2@2"
    assert (
        len(get_valid_json(seeded_gateway, "list_messages", id="t1")["messages"][0]["parts"]) == 6
    )
    assert get_valid_json(seeded_gateway, "list_artifacts", id="t1")["artifacts"]
    assert get_valid_json(seeded_gateway, "list_conversations")["items"][0]["id"] == "conv-7f"
    assert get_valid_json(seeded_gateway, "get_conversation", id="conv-7f")["tasks"] == [
        "t1",
        "t2",
        "t4",
    ]


def test_verdicts_and_calls_are_as_described(seeded_gateway: GatewayBench) -> None:
    (late,) = get_valid_json(seeded_gateway, "get_envelope_verdicts", envelope_id="r2")["events"]
    assert late["rule"] == "task_already_terminal"
    states = [
        get_valid_json(seeded_gateway, "get_call", key=key)["state"] for key in ("call-1", "call-2")
    ]
    assert states == ["answered", "open"]


def test_agents_are_as_described(seeded_gateway: GatewayBench) -> None:
    assert len(get_valid_json(seeded_gateway, "list_agents")["agents"]) == 2
    assert get_valid_json(seeded_gateway, "get_agent", urn=INDEXER)["id"] == INDEXER
    gone = seeded_gateway.ask("DELETE", f"/v1/asap/agents/{INDEXER}")
    conforms(gone, "delete", "/v1/asap/agents/{urn}")


@pytest.mark.parametrize(
    ("name", "ids", "query", "status"),
    [
        ("get_asap_task", {"id": "t9"}, "", 404),
        ("get_asap_task", {"id": "t1"}, "?at=1", 409),
        ("list_task_events", {"id": "t2"}, "?at=9", 404),
        ("get_snapshot", {"id": "t1", "version": "9"}, "", 404),
        ("get_call", {"key": "call-9"}, "", 404),
        ("list_asap_tasks", {}, "?status=done", 422),
    ],
)
def test_refusals_are_as_described(
    seeded_gateway: GatewayBench, name: str, ids: Json, query: str, status: int
) -> None:
    template = BY_NAME[name].template
    answer = seeded_gateway.ask("GET", template.format(**ids) + query)
    assert answer.status_code == status
    conforms(answer, "get", template)


def test_what_senders_are_told_is_as_described(gateway: GatewayBench) -> None:
    sent = gateway.ask("POST", ENVELOPES, json=request())
    (position,) = sent.json()["positions"]
    place = {"id": "t1", "key": "t1", "position": position["position"]}
    assert position == {**place, "trace_id": "tr-19", "filled": []}
    untraced = {**request(), "trace_id": None}
    (position,) = gateway.ask("POST", ENVELOPES, json=untraced).json()["positions"]
    assert (position["trace_id"], position["filled"]) == ("t1", ["trace_id"])
    for body in ([], [4], {**request(), "sender": "x"}):
        answer = gateway.ask("POST", ENVELOPES, json=body)
        assert answer.status_code == 422
        conforms(answer, "post", ENVELOPES)
    conforms(sent, "post", ENVELOPES)
