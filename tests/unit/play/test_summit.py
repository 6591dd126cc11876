"""Summit in a scenario: `POST /summit`, manifests in YAML, records of agents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streams.play.scenario import play
from streams.settings import Settings
from tests.unit.protocols.summit.queries.stage import (
    AGENT,
    RESULT,
    RUN,
    YAML,
    Json,
    cancel,
    invoke,
    manifest,
    progress,
    query,
    result,
    tool_call,
)


def run(*lines: Json, **settings: Any) -> list[Json]:
    return list(play([json.dumps(line) for line in lines], Settings(partitions=1, **settings)))


def sent(topic: str, value: Any, **more: Any) -> Json:
    return {"topic": f"summit.{topic}", "value": value, **more}


def called(body: Any, **headers: str) -> Json:
    return {"query": "POST /summit", "headers": headers, "body": body}


def query_line(path: str, method: str = "GET", **more: Any) -> Json:
    return {"query": f"{method} /v1/summit/{path}", **more}


def answers(*lines: Json) -> list[Json]:
    return [line for line in run(*lines) if "query" in line]


REGISTERED = sent("manifests", manifest())


def test_a_call_whose_run_has_ended_is_answered_with_its_result() -> None:
    lines = (REGISTERED, sent("calls", invoke()), sent("replies", result()), called(invoke()))
    (answer,) = answers(*lines)
    assert (answer["status"], answer["body"]["result"]) == (200, RESULT)
    assert run(*lines) == run(*lines)


def test_a_wait_that_is_not_met_at_once_is_timed_out() -> None:
    first, second = answers(
        REGISTERED, called(invoke(), Prefer="wait=5"), sent("replies", progress()), called(invoke())
    )
    assert first["body"]["error"]["code"] == -32001
    assert first["body"]["error"]["data"] == {
        "rule": "run.pending",
        "runId": RUN,
        "status": "queued",
        "poll": "agent.status",
        "position": "summit.calls/0/0",
    }
    assert second["body"]["error"]["data"]["status"] == "running"


def test_a_batch_of_calls_and_queries() -> None:
    batch = [query("agent.list"), invoke(), cancel(), tool_call(name="sing"), {}]
    (answer,) = answers(REGISTERED, called(batch))
    listed, pending, cancelled, unknown, wrong = answer["body"]
    assert [agent["agentId"] for agent in listed["result"]["agents"]] == [AGENT]
    assert pending["result"]["status"] == "cancelled"
    assert cancelled["result"] == {"runId": RUN, "status": "cancelled"}
    assert unknown["error"]["data"]["rule"] == "tool.unknown"
    assert wrong["error"]["code"] == -32600


def test_notifications_alone_have_no_answer() -> None:
    notification = {k: v for k, v in cancel().items() if k != "id"}
    (answer,) = answers(REGISTERED, sent("calls", invoke()), called(notification))
    assert (answer["status"], answer["body"]) == (204, None)


@pytest.mark.parametrize(
    ("line", "status", "rule"),
    [
        ({**called({}), "headers": {"Content-Type": "text/plain"}}, 415, "media_type"),
        (called("x" * (2 << 20) + "x"), 413, "too_large"),
        ({**called({}), "query": "POST /summit?x=1"}, 422, "query_value"),
        ({**called(query("agent.list")), "query": "POST /summit?after=summit.calls/0/9"}, 504, ""),
        ({"query": "GET /summit"}, 404, "path_unknown"),
    ],
)
def test_requests_that_are_none(line: Json, status: int, rule: str) -> None:
    (answer,) = answers(line)
    assert answer["status"] == status
    assert answer["body"]["rule"] == (rule or "not_seen_in_time")


@pytest.mark.parametrize("body", [None, "{", "[]"])
def test_bodies_that_are_none(body: Any) -> None:
    (answer,) = answers(called(body))
    assert answer["status"] == 200
    assert answer["body"]["error"]["code"] in (-32700, -32600)


@pytest.mark.parametrize("kind", ["application/yaml", "text/yaml; charset=utf-8"])
def test_a_manifest_in_yaml(kind: str) -> None:
    line = query_line("manifests", "POST", headers={"Content-Type": kind}, body=YAML)
    posted, agent = answers(line, query_line(f"agents/{AGENT}"))
    assert (posted["status"], posted["body"]) == (202, {"positions": ["summit.manifests/0/0"]})
    assert agent["body"]["manifest"] == manifest(resources={})


def test_bad_yaml_is_not_produced() -> None:
    headers = {"content-type": "application/yaml"}
    for text in ("a: 1\na: 2", "--- 1\n--- 2\n", "a: !x 1", "{"):
        (answer,) = answers(query_line("manifests", "POST", headers=headers, body=text))
        (error,) = answer["body"]["errors"]
        assert (answer["status"], error["index"], error["rule"]) == (422, 0, "manifest.yaml")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("{", "json.parse"),
        ("{'a': 1}", "json.parse"),
        ('{"id": NaN}', "json.invalid"),
        ('{"id": 1, "id": 2}', "json.invalid"),
        ("[" * 100_000, "json.invalid"),
    ],
)
def test_texts_break_the_same_rule_over_rest_and_json_rpc(text: str, rule: str) -> None:
    whole, *sent_over_rest = answers(
        called(text), *(query_line(path, "POST", body=text) for path in ("manifests", "calls"))
    )
    assert whole["body"]["error"]["data"]["rule"] == rule
    for answer in sent_over_rest:
        assert (answer["status"], answer["body"]["rule"]) == (422, rule)


def test_waiting_for_verdicts() -> None:
    headers = {"Prefer": "wait=1"}
    lines = (
        query_line("manifests", "POST", headers=headers, body=[manifest(), manifest("other")]),
        query_line("calls", "POST", headers=headers, body=[invoke(), invoke(agent="nobody")]),
        query_line("replies", "POST", headers=headers, body=progress()),
        query_line(f"manifests/{AGENT}", "DELETE", headers=headers),
        query_line("calls", "POST", body=invoke("late")),
    )
    responses = answers(*lines)
    assert [answer["status"] for answer in responses] == [200, 200, 200, 200, 202]
    rules = [[fact["rule"] for fact in each["body"].get("verdicts", [])] for each in responses]
    assert rules == [
        ["manifest.accepted"] * 2,
        ["call.accepted", "run.conflict"],
        ["reply.progress"],
        ["manifest.withdrawn"],
        [],
    ]
    assert responses[1]["body"]["positions"] == ["summit.calls/0/0", "summit.calls/0/1"]


def test_one_bad_item_and_nothing_is_produced() -> None:
    body = [invoke(), {**invoke(), "method": "agent.list"}, {**invoke(), "jsonrpc": "1"}]
    posted, events = answers(
        query_line("calls", "POST", body=body), query_line(f"runs/{RUN}/events")
    )
    errors = [(error["index"], error["rule"]) for error in posted["body"]["errors"]]
    assert posted["status"] == 422
    assert errors == [(1, "rpc.method"), (2, "rpc.version")]
    assert events["body"]["items"] == []


@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        ("manifests", {**manifest(), "kind": "Robot"}, "manifest.kind"),
        ("calls", {**invoke(), "caller": ""}, "caller.value"),
        ("replies", {**result(), "kind": "guess"}, "reply.shape"),
        ("replies", "{", "json.parse"),
        ("replies", '{"a": 1, "a": 2}', "json.invalid"),
    ],
)
def test_what_breaks_a_rule_is_told_by_its_code(path: str, value: Any, rule: str) -> None:
    (answer,) = answers(query_line(path, "POST", body=value))
    assert (answer["status"], answer["body"]["errors"][0]["rule"]) == (422, rule)


def test_a_name_that_no_agent_has_cannot_be_withdrawn() -> None:
    (answer,) = answers(query_line("manifests/No%20one", "DELETE"))
    assert (answer["status"], answer["body"]["rule"]) == (422, "manifest.name")


def test_records_by_topic_get_what_the_edge_says() -> None:
    (refused,) = run(sent("calls", {**invoke(), "id": 1.5}))
    assert (refused["topic"], refused["rejected"]["rule"]) == (None, "rpc.id")
    first, *_ = run(sent("calls", {**invoke(), "caller": ""}, **{"as": "service"}))
    assert (first["topic"], first["value"]["rule"]) == ("summit.events", "caller.value")


def test_a_null_value_withdraws() -> None:
    gone = {"topic": "summit.manifests", "key": AGENT, "value": None}
    facts = [line for line in run(REGISTERED, gone) if line["topic"] == "summit.events"]
    assert [line["value"]["rule"] for line in facts] == ["manifest.accepted", "manifest.withdrawn"]


def test_restarts_change_nothing() -> None:
    lines = (REGISTERED, called(invoke()), sent("replies", result()), called(invoke()))
    with_restarts = [each for line in lines for each in (line, {"restart": True})]
    expected = [{**line, "input": 0} for line in run(*lines)]
    assert [{**line, "input": 0} for line in run(*with_restarts)] == expected


def test_a_setting_bounds_a_batch() -> None:
    batch = [query("agent.list")] * 3
    (answer,) = run(called(batch), summit_batch_max=2)
    assert answer["body"]["error"]["data"]["rule"] == "rpc.batch"
