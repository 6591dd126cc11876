"""What SAP's routes answer has the shape that the OpenAPI document gives it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.unit.gateway.bench import GatewayBench
from tests.unit.gateway.test_answers import BY_NAME, DOCUMENT, validator
from tests.unit.protocols.sap.queries.stage import (
    SapInboxAgent,
    cached,
    result,
    signal,
    task,
    task_id,
)
from tests.unit.protocols.sap.queries.test_learning import derived, playbook, written
from tests.unit.protocols.sap.routes.test_waits import RESULTS, SIGNALS, TASKS, ask_while, post
from topology.sap import SAP_HEURISTICS, SAP_KNOWLEDGE

Json = dict[str, Any]


def conforms(answer: httpx.Response, method: str, template: str) -> None:
    responses = DOCUMENT["paths"][template][method]["responses"]
    response = responses.get(str(answer.status_code), responses["default"])
    media = answer.headers["content-type"]
    validator(response["content"][media]["schema"]).validate(answer.json())


def get_valid_json(gateway: GatewayBench, name: str, query: str = "", **ids: str) -> Json:
    route = BY_NAME[name]
    answer = gateway.ask("GET", route.template.format(**ids) + query)
    assert answer.status_code == 200, answer.text
    conforms(answer, "get", route.template)
    body: Json = answer.json()
    return body


@pytest.fixture
def seeded_gateway(gateway: GatewayBench) -> GatewayBench:
    """Tasks of every kind of end, and what was learned of them."""
    desk = SapInboxAgent(gateway.bench)
    pressed = {"context__pressure": {"systems_over_willpower": 63.5}, "colour": ["red", None]}
    pressed["target"] = {"capability": "nobody.there"}
    refusing = {"context__constraints": ["No PII"], "payload": {"x": "ann@example.org"}}
    for of in (
        cached(0),
        cached(1),
        cached(2, "only", payload={}),
        task(3, **pressed),
        task(4, **refusing),
    ):
        gateway.send(TASKS, of)
        desk.work()
    gateway.send(RESULTS, result(task(3), "RUNNING"), result(task(9)))
    gateway.send(SIGNALS, signal(cached(0), rating=4, note="good"))
    first = gateway.bench.look(f"{TASKS}/{task_id(0)}")["cache"]["fingerprint"]
    written(gateway.bench, SAP_KNOWLEDGE, playbook("report.summarise", "NORDIC", first))
    written(gateway.bench, SAP_HEURISTICS, derived("report.summarise", 1))
    position = gateway.send(TASKS, task(5))
    gateway.get(f"{TASKS}/{task_id(5)}", after=position)
    return gateway


def test_tasks_are_as_described(seeded_gateway: GatewayBench) -> None:
    tasks = [
        get_valid_json(seeded_gateway, "get_task", taskId=task_id(n)) for n in (0, 1, 2, 3, 4, 5, 9)
    ]
    expected = ["SUCCEEDED", "SUCCEEDED", "FAILED", "RUNNING", "FAILED", "QUEUED", None]
    assert [each["state"] for each in tasks] == expected
    listed = get_valid_json(seeded_gateway, "list_sap_tasks")["items"]
    states = {each["taskId"]: each["state"] for each in listed}
    assert states == {each["taskId"]: each["state"] for each in tasks if each["state"]}


def test_explanations_are_as_described(seeded_gateway: GatewayBench) -> None:
    explanations = [
        get_valid_json(seeded_gateway, "explain_task", taskId=task_id(n))
        for n in (0, 1, 2, 3, 4, 5, 9)
    ]
    commands = [each for explanation in explanations for each in explanation["commands"]]
    assert {each["verdict"] for each in commands} == {"accepted", "rejected"}
    assert any(each["evaluation"]["steps"] for each in commands if each.get("evaluation"))
    assert any(explanation["lookups"] for explanation in explanations)


def test_answers_are_as_described(seeded_gateway: GatewayBench) -> None:
    key = get_valid_json(seeded_gateway, "get_task", taskId=task_id(0))["cache"]["cacheKey"]
    assert get_valid_json(seeded_gateway, "get_cached", cacheKey=key)["version"] == 1
    assert get_valid_json(seeded_gateway, "list_cached_versions", cacheKey=key)["versions"]
    checked = get_valid_json(seeded_gateway, "list_cached", "?verify=true")["items"]
    assert [each["cacheKey"] for each in checked] == [key]
    assert get_valid_json(seeded_gateway, "list_cached")["items"][0]["checked"] is None


def test_learning_is_as_described(seeded_gateway: GatewayBench) -> None:
    learning = get_valid_json(seeded_gateway, "list_learning", "?capability=report.summarise")
    assert [bool(learning[name]) for name in ("items", "heuristics")] == [True, True]
    assert any(item["playbook"] for item in learning["items"])
    assert get_valid_json(seeded_gateway, "list_heuristics")["items"] == learning["heuristics"]


def test_what_senders_are_told_is_as_described(gateway: GatewayBench) -> None:
    desk = SapInboxAgent(gateway.bench)
    cases = [
        (TASKS, cached(1), 20, 200),
        (TASKS, {**cached(1), "payload": {}}, 20, 409),
        (TASKS, task(2, target={"capability": "nobody.there"}), 1, 202),
    ]
    for path, value, seconds, status in cases:
        (answer,) = ask_while(gateway, [post(path, value, seconds)], desk.work)
        assert answer.status_code == status, answer.text
        conforms(answer, "post", path)
    wrong: list[tuple[str, Any]] = [(TASKS, {}), (RESULTS, result(task(1), "DONE")), (SIGNALS, [])]
    for path, value in wrong:
        answer = gateway.ask("POST", path, json=value)
        assert answer.status_code == 422
        conforms(answer, "post", path)
    plain = gateway.ask("POST", TASKS, json=[task(5), task(6)])
    assert plain.status_code == 202
    conforms(plain, "post", TASKS)


@pytest.mark.parametrize("name", ["send_tasks", "send_results", "send_signals"])
def test_examples_are_taken(gateway: GatewayBench, name: str) -> None:
    route = BY_NAME[name]
    content = DOCUMENT["paths"][route.template]["post"]["requestBody"]["content"]
    examples = [each["value"] for each in content["application/json"]["examples"].values()]
    assert len(examples) > 2
    for example in (*examples, examples):
        validator(content["application/json"]["schema"]).validate(example)
        answer = gateway.ask("POST", route.template, json=example)
        assert answer.status_code == 202, answer.text
