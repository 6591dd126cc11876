"""ASAP in a scenario: envelopes without ids, `POST /asap`, agents that come and go."""

from __future__ import annotations

import json
from typing import Any

from schemas.asap import extract_timestamp
from streams.play.scenario import play
from streams.settings import Settings
from tests.unit.protocols.asap.queries.stage import (
    INDEXER,
    manifest,
    query,
    request,
    response,
    update,
)

Json = dict[str, Any]


def run(*lines: Json) -> list[Json]:
    return list(play([json.dumps(line) for line in lines], Settings(partitions=1)))


def sent(envelope: Json, **more: Any) -> Json:
    return {"topic": "asap.envelopes", "value": envelope, **more}


def called(envelope: Json, **headers: str) -> Json:
    body = {"jsonrpc": "2.0", "method": "asap.send", "params": {"envelope": envelope}, "id": 1}
    return {"query": "POST /asap", "headers": headers, "body": body}


def get_query(path: str) -> Json:
    return {"query": f"GET /v1/asap/{path}"}


def answers(*lines: Json) -> list[Json]:
    return [line["body"] for line in run(*lines) if "query" in line]


def bare() -> Json:
    return {name: value for name, value in request().items() if name not in ("id", "timestamp")}


def test_ids_and_times_are_the_same_on_every_run() -> None:
    posted = {"query": "POST /v1/asap/envelopes", "body": [bare(), bare()]}
    lines = (sent(bare()), posted, {**posted, "body": json.dumps(bare())}, called(bare()))
    first = run(*lines)
    assert first == run(*lines)
    created = [line["value"] for line in first if line.get("topic") == "asap.events"]
    assert [fact["rule"] for fact in created] == ["task_created"] * 5
    ids = [fact["envelope_id"] for fact in created]
    assert len(set(ids)) == 5
    assert {extract_timestamp(each).year for each in ids} == {2026}
    assert {fact["envelope"]["timestamp"][:10] for fact in created} == {"2026-01-01"}


def test_restarts_change_nothing() -> None:
    lines = (sent(bare()), sent(request()), sent(update("u1", save={"page": 1})))
    with_restarts = [each for line in lines for each in (line, {"restart": True})]
    expected = [{**line, "input": 0} for line in run(*lines)]
    assert [{**line, "input": 0} for line in run(*with_restarts)] == expected


def test_a_call_is_answered_with_its_verdict() -> None:
    lines = (called(request()), called(update("u1", save={"page": 7})), called(query("q1")))
    first, second, third = (body["result"] for body in answers(*lines))
    assert (first["verdict"], first["task_id"]) == ("accepted", "t1")
    assert first["position"] == "asap.envelopes/0/0"
    assert first["envelope"]["payload"]["status"] == "submitted"
    assert second["envelope"]["payload"]["status"] == "working"
    snapshot = third["envelope"]["extensions"]["dev.headrace.snapshot"]
    assert (snapshot["version"], snapshot["data"]) == (1, {"page": 7})
    assert third["envelope"]["correlation_id"] == "q1"
    assert answers(*lines) == answers(*lines)


def test_a_wait_that_is_not_met_at_once_is_timed_out() -> None:
    lines = (called(request(), Prefer="wait=5"), sent(response("r1")), called(request()))
    first, last = answers(*lines)
    assert first["result"]["envelope"]["payload"]["status"] == "submitted"
    assert last["result"]["verdict"] == "duplicate"
    assert last["result"]["envelope"]["id"] == "r1"


def test_calls_that_are_none() -> None:
    bodies: tuple[Any, ...] = (None, "{", [], {"method": "asap.send"}, {"params": {"envelope": 4}})
    lines = [{"query": "POST /asap", "body": body} for body in bodies]
    codes = [body["error"]["code"] for body in answers(*lines)]
    assert codes == [-32700, -32700, -32600, -32600, -32600]


def test_the_service_has_a_manifest() -> None:
    (service_manifest,) = answers({"query": "GET /.well-known/asap/manifest.json"})
    assert service_manifest["id"] == "urn:asap:agent:headrace"


def test_agents_come_and_go() -> None:
    path = f"/v1/asap/agents/{INDEXER}"
    put = {"query": f"PUT {path}", "body": manifest()}
    lines = (put, get_query(f"agents/{INDEXER}"), {"query": f"DELETE {path}"}, get_query("agents"))
    placed, agent_row, gone, none = answers(*lines)
    assert placed == {"position": "asap.manifests/0/0"}
    assert agent_row["id"] == INDEXER
    assert gone == {"position": "asap.manifests/0/1"}
    assert none == {"agents": [], "cursor": None}


def test_what_breaks_a_rule_is_not_produced() -> None:
    (refused,) = run(sent({**request(), "sender": "x"}))
    assert (refused["topic"], refused["rejected"]["rule"]) == (None, "bad_urn")
    first, *_ = run(sent({**request(), "sender": "x"}, **{"as": "service"}))
    assert (first["topic"], first["value"]["rule"]) == ("asap.events", "bad_urn")
    (uncarried,) = run(sent({**request(), "id": 4}, **{"as": "service"}))
    assert uncarried["rejected"]["rule"] == "malformed_envelope"


def test_a_null_value_withdraws_a_manifest_and_is_no_envelope() -> None:
    gone = {"topic": "asap.manifests", "key": INDEXER, "value": None}
    (fact,) = [line for line in run(gone) if line["topic"] == "asap.events"]
    assert fact["value"]["rule"] == "manifest_withdrawn"
    none = {"topic": "asap.envelopes", "key": "t1", "value": None}
    assert [line["topic"] for line in run(none)] == ["asap.envelopes.dlq"]
