"""Every answer has exactly the shape that the OpenAPI document gives it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from jsonschema import Draft202012Validator

from streams.api.route import Compute, Produce, Query, ReplaceCommand, Route, SyncCommand
from streams.demo.fleet_simulation import tell
from streams.gateway.openapi import document
from streams.gateway.openapi.operation import schema_of
from streams.routes.table import ROUTES, find, parameters_of
from streams.settings import Settings
from streams.views.parse import QueryError, QueryParams
from streams.views.query_params import Parameter, ValueForm
from tests.unit.envelopes import transition
from tests.unit.gateway.bench import GatewayBench

DOCUMENT: dict[str, Any] = json.loads(json.dumps(document(Settings())))
STORY = tell("shapes")
SESSIONS = {
    sent.packet["packet_id"]: quote(sent.packet["trace"]["session_id"], safe="")
    for sent in STORY.packets
}
BY_NAME = {route.name: route for route in ROUTES}
OPERATIONS = [(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods]


def validator(schema: Any) -> Draft202012Validator:
    return Draft202012Validator({**schema, "components": DOCUMENT["components"]})


def answer_schema(route: Route, status: int) -> Any:
    responses = DOCUMENT["paths"][route.template][route.method.lower()]["responses"]
    response = responses.get(str(status), responses["default"])
    (media,) = response["content"].values()
    return media["schema"]


def conforms(method: str, path: str, status: int, body: Any) -> None:
    route, _ = find(method, path)
    problems = sorted(
        validator(answer_schema(route, status)).iter_errors(body), key=lambda e: len(e.path)
    )
    assert not problems, f"{method} {path}: {problems[0].message} at {list(problems[0].path)}"


@pytest.fixture(scope="module")
def seeded_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayBench]:
    """A story in which every kind of row is written."""
    with GatewayBench(tmp_path_factory.mktemp("told")) as gateway:
        for part in STORY.generations[:24]:
            last = gateway.send("/v1/apc/packets", *[sent.packet for sent in part.sent])
        events = [
            transition(1),
            transition(1),
            transition(2, task_id="t2", payload__from_state="COMPLETED"),
        ]
        gateway.send("/v1/rtes/events", *events)
        gateway.get("/v1/apc/packets", after=last, limit="1")
        yield gateway


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("trace_packets", "limit=300"),
        ("replay_run", "run_id={run_id}"),
        ("list_throttling", "limit=50"),
        ("list_decisions", "kind=arbitration&limit=20"),
        ("list_decisions", "kind=decay"),
        ("summarize_lineage", ""),
        ("list_protocols", ""),
        ("list_priors", "order=mean&min_attempts=1"),
        ("list_propagation", ""),
        ("list_transfer_quality", ""),
        ("list_eval_correlation", ""),
        ("list_effectiveness", ""),
        ("walk_lineage", "node=trace:{session_id}&limit=20"),
        ("walk_lineage", "node=trace:{session_id}&depth=1&limit=10000&direction=blast_radius"),
        ("list_events", "session_id=s1"),
        ("list_rejections", "session_id=s1"),
        ("list_tasks", ""),
    ],
)
def test_lists_are_as_described(seeded_gateway: GatewayBench, name: str, query: str) -> None:
    (packet, *_) = seeded_gateway.get("/v1/apc/packets", limit="1")["packets"]
    path = BY_NAME[name].template
    session = SESSIONS[packet["packet_id"]]
    filled_query = query.format(run_id=quote(packet["run_id"], safe=""), session_id=session)
    body = seeded_gateway.get(f"{path}?{filled_query}" if filled_query else path)
    conforms("GET", path, 200, body)
    rows = body.get("items", body.get("packets", body.get("protocols")))
    assert rows


def test_priors_are_explained_as_described(seeded_gateway: GatewayBench) -> None:
    items = seeded_gateway.get("/v1/apc/priors", limit="5")["items"]
    for item in items:
        named = {name: item[name] for name in ("use_case", "kind", "strategy")}
        body = seeded_gateway.get("/v1/apc/priors/explain", **named)
        conforms("GET", "/v1/apc/priors/explain", 200, body)
        assert len(body["tasks"]) == body["prior"]["attempts"]
    assert items


def test_what_is_said_of_single_packets_is_as_described(seeded_gateway: GatewayBench) -> None:
    packets = seeded_gateway.get("/v1/apc/packets", limit="400")["packets"]
    kinds = {row["packet_type"]: row for row in reversed(packets)}
    assert len(kinds) > 8
    for row in [*kinds.values(), *packets[:40]]:
        path = f"/v1/apc/sessions/{SESSIONS[row['packet_id']]}/packets/{row['packet_id']}"
        for below in ("", "/events", "/explain"):
            conforms("GET", path + below, 200, seeded_gateway.get(path + below))


def test_a_what_if_is_as_described(seeded_gateway: GatewayBench) -> None:
    rows = seeded_gateway.get("/v1/apc/packets", packet_type="TRANSFER", limit="20")["packets"]
    for row in rows:
        path = f"/v1/apc/sessions/{SESSIONS[row['packet_id']]}/packets/{row['packet_id']}/explain"
        body = seeded_gateway.get(path, sender_score="0.99", top_k="2", cross_use_case="false")
        conforms("GET", path, 200, body)
        assert body["counterfactual"]["given"]["top_k"] == 2


def test_protocols_and_coordination_are_as_described(seeded_gateway: GatewayBench) -> None:
    for session in STORY.sessions.values():
        path = f"/v1/apc/sessions/{quote(session, safe='')}/coordination"
        conforms("GET", path, 200, seeded_gateway.get(path))
    for row in seeded_gateway.get("/v1/lineage/protocols")["items"]:
        path = f"/v1/apc/protocols/{quote(row['protocol_id'], safe='')}"
        conforms("GET", path, 200, seeded_gateway.get(path))


@pytest.mark.parametrize("name", ["arbitrate_transfers", "evaluate_metrics"])
def test_examples_of_bodies_are_answered_as_described(
    seeded_gateway: GatewayBench, name: str
) -> None:
    route = BY_NAME[name]
    content = DOCUMENT["paths"][route.template]["post"]["requestBody"]["content"]
    for example in content["application/json"]["examples"].values():
        validator(content["application/json"]["schema"]).validate(example["value"])
        answer = seeded_gateway.ask("POST", route.template, json=example["value"])
        assert answer.status_code == 200, answer.text
        conforms("POST", route.template, 200, answer.json())


@pytest.mark.parametrize("name", ["send_packets", "send_events"])
def test_examples_of_envelopes_are_taken(tmp_path: Path, name: str) -> None:
    route = BY_NAME[name]
    content = DOCUMENT["paths"][route.template]["post"]["requestBody"]["content"]
    examples = [each["value"] for each in content["application/json"]["examples"].values()]
    with GatewayBench(tmp_path) as gateway:
        for example in (*examples, examples):
            validator(content["application/json"]["schema"]).validate(example)
            answer = gateway.ask("POST", route.template, json=example)
            assert answer.status_code == 202, answer.text
            conforms("POST", route.template, 202, answer.json())


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_reference_of_the_document_leads_somewhere(path: str, method: str) -> None:
    components = DOCUMENT["components"]["schemas"]
    text = json.dumps(DOCUMENT["paths"][path][method])
    todo, seen = [text], set[str]()
    while todo:
        for part in todo.pop().split('"#/components/schemas/')[1:]:
            name = part.partition('"')[0]
            if name not in seen:
                seen.add(name)
                todo.append(json.dumps(components[name]))


def test_no_component_stands_for_another_thing() -> None:
    text = json.dumps(DOCUMENT["components"])
    assert "x-record" not in text
    assert "$defs" not in text


def test_operations_are_named_once() -> None:
    names = [DOCUMENT["paths"][path][method]["operationId"] for path, method in OPERATIONS]
    assert len(set(names)) == len(names)
    assert {route.name for route in ROUTES} <= set(names)


WRONG = {
    ValueForm.WHOLE: ["", "x", "1.5", "1e3", "99999999999999999999", "-99999999999999999"],
    ValueForm.NUMBER: ["", "x", ".5", "NaN", "1e999", "0x1"],
    ValueForm.FLAG: ["", "1", "TRUE"],
    ValueForm.TIME: ["", "x", "2026-01-01", "2026-01-01T00:00:00"],
    ValueForm.POSITION: ["", "x", "apc.packets/0", "apc.packets/0/-1", "a/b/0/1"],
}
PARAMETERS = [(route.name, p) for route in ROUTES for p in parameters_of(route)]


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_a_query_takes_what_the_document_allows_and_no_more(
    name: str, parameter: Parameter
) -> None:
    route = BY_NAME[name]
    schema = schema_of(parameter, "")
    required = "".join(
        f"&{p.name}={p.example or 'x'}"
        for p in parameters_of(route)
        if p.required and p is not parameter
    )

    def parsed(text: str) -> QueryParams:
        return QueryParams(f"{parameter.name}={quote(text)}{required}", parameters_of(route))

    for good in schema.get("enum", []):
        assert parsed(good).text(parameter.name) == good
    if parameter.form in (ValueForm.WHOLE, ValueForm.NUMBER):
        for edge in (schema["minimum"], schema["maximum"]):
            assert parsed(str(edge)).text(parameter.name) == str(edge)
        for beyond in (schema["minimum"] - 1, schema["maximum"] + 1):
            with pytest.raises(QueryError):
                parsed(str(beyond))
    wrong = ["certainly not"] if parameter.choices else WRONG.get(parameter.form, [])
    for text in wrong:
        with pytest.raises(QueryError) as caught:
            parsed(text)
        assert caught.value.problems[0].path == parameter.name


def test_an_action_says_how_a_route_is_answered() -> None:
    for route in ROUTES:
        assert isinstance(route.action, Produce | Compute | Query | SyncCommand | ReplaceCommand)
        assert (route.method == "GET") == isinstance(route.action, Query)
        assert (route.method in ("PUT", "DELETE")) == isinstance(route.action, ReplaceCommand)
        if not isinstance(route.action, SyncCommand):  # a confirm or an abort says all in its path
            assert (route.body is not None) == (route.method in ("POST", "PUT"))
