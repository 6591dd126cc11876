"""What Summit's routes answer has the shape that the OpenAPI document gives it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.gateway.bench import GatewayBench
from tests.unit.gateway.test_answers import BY_NAME, DOCUMENT, validator
from tests.unit.protocols.sap.routes.test_responses import conforms, get_valid_json
from tests.unit.protocols.summit.queries.stage import (
    AGENT,
    RUN,
    YAML,
    Json,
    cancel,
    critic,
    invoke,
    judgement,
    manifest,
    progress,
    query,
    result,
    tool_call,
)
from tests.unit.protocols.summit.routes.summit_bench import (
    CALLS,
    MANIFESTS,
    REPLIES,
    RUNS,
    SummitBench,
)


@pytest.fixture
def seeded_gateway(gateway: GatewayBench) -> GatewayBench:
    """Runs of both kinds, with all that may belong to one."""
    checked = {"status": "passed", "score": 0.9, "checks": [{"name": "x", "passed": True}]}
    gateway.send(MANIFESTS, manifest(resources={"memory": "high"}), critic(), manifest("other"))
    gateway.send(CALLS, {**invoke(), "caller": "desk-7"}, tool_call(), invoke("b", "nobody"))
    gateway.send(REPLIES, progress(message="half"), result(verification=checked))
    gateway.send(REPLIES, judgement(status="flagged"), result("tool-1", {"x": None}))
    extra: Json = {"parentRunId": RUN, "tenant": {"name": "x"}, "budget": {"usd": 0.5, "tokens": 1}}
    gateway.send(CALLS, invoke("c", **extra), invoke("d", **extra), cancel("c", reason="x"))
    gateway.send(REPLIES, result("d", {"words": "x"}))
    position = gateway.send(CALLS, invoke("e", inputs={"top": 99}))
    gateway.get(RUNS, after=position)
    return gateway


def test_runs_are_as_described(seeded_gateway: GatewayBench) -> None:
    states = [
        get_valid_json(seeded_gateway, "get_summit_run", runId=run)["status"]
        for run in (RUN, "c", "d")
    ]
    assert states == ["completed", "cancelled", "failed"]
    assert get_valid_json(seeded_gateway, "get_summit_run", runId="tool-1")["output"] == {"x": None}
    assert len(get_valid_json(seeded_gateway, "list_summit_runs", "?limit=9")["items"]) == 4
    rules = [
        event["rule"]
        for run in (RUN, "b", "c", "d", "e")
        for event in get_valid_json(seeded_gateway, "list_summit_run_events", runId=run)["items"]
    ]
    assert {"agent.unknown", "inputs.schema", "output.schema", "cancel.accepted"} <= set(rules)


def test_agents_are_as_described(seeded_gateway: GatewayBench) -> None:
    assert len(get_valid_json(seeded_gateway, "list_summit_agents")["items"]) == 3
    assert (
        get_valid_json(seeded_gateway, "get_summit_agent", "?version=1.2.0", agentId=AGENT)["state"]
        == "registered"
    )
    assert get_valid_json(seeded_gateway, "list_summit_agent_events", agentId=AGENT)["items"]


@pytest.mark.parametrize(
    ("name", "ids", "query_", "status"),
    [
        ("get_summit_run", {"runId": "none"}, "", 404),
        ("get_summit_agent", {"agentId": "none"}, "", 404),
        ("list_summit_runs", {}, "?state=done", 422),
        ("list_summit_agents", {}, "?limit=501", 422),
    ],
)
def test_refusals_are_as_described(
    seeded_gateway: GatewayBench, name: str, ids: Json, query_: str, status: int
) -> None:
    template = BY_NAME[name].template
    answer = seeded_gateway.ask("GET", template.format(**ids) + query_)
    assert answer.status_code == status
    conforms(answer, "get", template)


def test_what_senders_are_told_is_as_described(summit: SummitBench) -> None:
    wait = {"Prefer": "wait=20"}
    sent: list[tuple[str, Any, Json, int]] = [
        (MANIFESTS, manifest(), {}, 202),
        (MANIFESTS, manifest(), wait, 200),
        (MANIFESTS, {}, wait, 422),
        (CALLS, [invoke(), tool_call()], wait, 200),
        (CALLS, [invoke()] * 501, {}, 413),
        (CALLS, [invoke(), 4], {}, 422),
        (REPLIES, result(), wait, 200),
        (REPLIES, [], {}, 202),
    ]
    for path, body, headers, status in sent:
        answer = summit.ask("POST", path, json=body, headers=headers)
        assert answer.status_code == status, answer.text
        conforms(answer, "post", path)
    gone = summit.ask("DELETE", f"{MANIFESTS}/{AGENT}", headers=wait)
    assert gone.headers["preference-applied"] == "wait=20"
    conforms(gone, "delete", f"{MANIFESTS}/{{agentId}}")
    assert summit.ask("DELETE", f"{MANIFESTS}/{AGENT}").status_code == 202


def test_verdicts_that_do_not_come_in_time(gateway: GatewayBench) -> None:
    answer = gateway.ask("POST", MANIFESTS, json=manifest(), headers={"Prefer": "wait=0"})
    assert (answer.status_code, list(answer.json())) == (202, ["positions"])
    assert answer.headers["preference-applied"] == "wait=0"


@pytest.mark.parametrize("kind", ["application/yaml", "text/yaml"])
def test_manifests_in_yaml(summit: SummitBench, kind: str) -> None:
    headers = {"content-type": kind, "Prefer": "wait=20"}
    answer = summit.ask("POST", MANIFESTS, content=YAML.encode(), headers=headers)
    assert [fact["rule"] for fact in answer.json()["verdicts"]] == ["manifest.accepted"]
    bad = summit.ask("POST", MANIFESTS, content=b"a: &a [*a]", headers=headers)
    assert (bad.status_code, bad.json()["errors"][0]["rule"]) == (422, "manifest.yaml")
    conforms(bad, "post", MANIFESTS)
    assert summit.ask("POST", CALLS, content=b"{}", headers=headers).status_code == 415


def test_answers_of_json_rpc_are_as_described(summit: SummitBench) -> None:
    summit.send_and_await(MANIFESTS, manifest())
    summit.agent()
    path = DOCUMENT["paths"]["/summit"]["post"]
    schema = path["responses"]["200"]["content"]["application/json"]["schema"]
    body = path["requestBody"]["content"]["application/json"]
    bodies = [invoke(), tool_call(), cancel(), query("agent.list"), [query("tool.list"), 4]]
    for body_json in (*bodies, *(example["value"] for example in body["examples"].values())):
        validator(schema).validate(summit.call(body_json))
    for body_json in bodies[:4]:
        validator(body["schema"]).validate(body_json)
