"""Tests of what the gateway says about itself, of tags, and of headers under /v1."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from schemas.apc import rules as apc_rules
from streams.gateway.entity_tags import matches
from tests.unit.envelopes import idea
from tests.unit.gateway.bench import GatewayBench
from tests.unit.gateway.guarded import READER, Guarded
from tests.unit.gateway.test_answers import DOCUMENT, conforms, validator
from topology.machine import ANY
from topology.state_machines import all_machines

API_HEADERS = {
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "private, no-cache",
}
TAGGED = ("/v1/service", "/v1/machines", "/v1/rules", "/v1/log", "/v1/apc/packets?limit=5")


def test_the_service_says_what_it_is(gateway: GatewayBench) -> None:
    body = gateway.get("/v1/service")
    content = DOCUMENT["paths"]["/v1/service"]["get"]["responses"]["200"]["content"]
    validator(content["application/json"]["schema"]).validate(body)
    assert body["protocols"] == ["apc", "saop", "sap", "asap", "summit", "otel"]
    assert {"as_of", "checkpoints", "console"} <= set(body["features"])
    assert (body["tokens"], body["caller"]) == (False, None)
    assert body["cluster_id"] == gateway.bench.log.cluster_id()
    assert gateway.ask("GET", "/v1/service?x=1").json()["rule"] == "query_value"


def test_a_token_is_not_needed_and_says_who_asks(guarded: Guarded) -> None:
    stranger = guarded.ask("GET", "/v1/service")
    assert (stranger.status_code, stranger.json()["caller"]) == (200, None)
    assert stranger.json()["tokens"] is True
    assert guarded.ask("GET", "/v1/service", "hr_none_such").json()["caller"] is None
    known = guarded.ask("GET", "/v1/service", guarded.token("builder-1", READER)).json()
    assert known["caller"] == {"principal": "builder-1", "roles": ["reader"], "expires_at": None}
    for path in ("/v1/machines", "/v1/machines/sap-task", "/v1/rules"):
        assert guarded.ask("GET", path).status_code == 200
    assert guarded.ask("GET", "/v1/log").json()["rule"] == "token_missing"


def test_machines_are_listed_as_declared(gateway: GatewayBench) -> None:
    body = gateway.get("/v1/machines")
    conforms("GET", "/v1/machines", 200, body)
    assert body["next"] is None
    for item, declared in zip(body["items"], all_machines(), strict=True):
        assert gateway.get(f"/v1/machines/{item['name']}") == item
        edges = {(edge["from"], edge["event"]): edge["to"] for edge in item["edges"]}
        assert edges == dict(declared.machine.edges)
    assert any(edge["from"] == ANY for item in body["items"] for edge in item["edges"])
    assert {item["protocol"] for item in body["items"]} == {"apc", "saop", "sap", "asap", "summit"}
    assert gateway.ask("GET", "/v1/machines/none").json()["rule"] == "not_found"


def test_rules_are_listed_by_pages(gateway: GatewayBench) -> None:
    everything = gateway.get("/v1/rules")
    conforms("GET", "/v1/rules", 200, everything)
    of_apc = gateway.get("/v1/rules", protocol="apc")["items"]
    assert [rule["code"] for rule in of_apc] == [rule.code for rule in apc_rules.ALL]
    page = gateway.get("/v1/rules", limit="100")
    items = page["items"]
    while page["next"] is not None:
        page = gateway.get("/v1/rules", limit="100", cursor=page["next"])
        items += page["items"]
    assert items == everything["items"]


def test_the_log_is_shown_with_offsets_and_lag(gateway: GatewayBench) -> None:
    position = gateway.send("/v1/apc/packets", idea(1))
    topic, partition, offset = position.split("/")
    body = gateway.get("/v1/log")
    conforms("GET", "/v1/log", 200, body)
    (packets,) = (each for each in body["topics"] if each["name"] == topic)
    assert packets["kind"] == "command"
    assert packets["partitions"][int(partition)]["end"] == int(offset) + 1
    lags = {lag["lag"] for each in body["processors"] for lag in each["partitions"]}
    assert lags == {0}
    assert body["view"]["state"] == "ready"


def test_the_log_names_the_topics_whose_records_are_shown(gateway: GatewayBench) -> None:
    topics = gateway.get("/v1/log")["topics"]
    readable = {each["name"] for each in topics if each["readable"]}
    answering = {
        each["name"]
        for each in topics
        if gateway.ask("GET", f"/v1/records/{each['name']}/0").status_code == 200
    }
    assert readable == answering
    assert {"apc.packets", "sap.cache"} <= readable
    assert not {"rtes.raw", "apc.transfers"} & readable


@pytest.mark.parametrize("path", TAGGED)
def test_what_a_client_has_is_not_sent_again(gateway: GatewayBench, path: str) -> None:
    first = gateway.ask("GET", path)
    tag = first.headers["etag"]
    assert tag.startswith('W/"')
    again = gateway.ask("GET", path, headers={"if-none-match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert {**API_HEADERS, **first.headers}.items() >= API_HEADERS.items()
    assert dict(again.headers).items() >= API_HEADERS.items()
    assert gateway.ask("GET", path, headers={"if-none-match": '"other"'}).status_code == 200


def test_a_tag_changes_with_the_answer(gateway: GatewayBench) -> None:
    path = "/v1/apc/packets?limit=5"
    before = gateway.ask("GET", path).headers["etag"]
    position = gateway.send("/v1/apc/packets", idea(1))
    after = gateway.ask("GET", f"{path}&after={position}", headers={"if-none-match": before})
    assert after.status_code == 200
    assert after.headers["etag"] != before


def test_errors_and_commands_have_no_tag_and_the_same_headers(gateway: GatewayBench) -> None:
    answers = [
        gateway.ask("GET", "/v1/machines/none", headers={"if-none-match": "*"}),
        gateway.ask("GET", "/v1/none"),
        gateway.ask("POST", "/v1/apc/packets", json=[idea(1)], headers={"if-none-match": "*"}),
    ]
    assert [answer.status_code for answer in answers] == [404, 404, 202]
    for answer in answers:
        assert "etag" not in answer.headers
        assert dict(answer.headers).items() >= API_HEADERS.items()
    assert gateway.ask("GET", "/readyz").headers["cache-control"] == "no-store"


def test_conditions_name_one_tag_several_or_any() -> None:
    tag = 'W/"a"'
    assert all(matches(condition, tag) for condition in ('W/"a"', '"a"', '"b", W/"a"', "*"))
    assert not any(matches(condition, tag) for condition in (None, "", '"b"', "a", 'W/"a'))


def test_a_token_that_ends_says_when(guarded: Guarded) -> None:
    from streams.access.tokens import new_token

    ends = datetime(2099, 1, 1, tzinfo=UTC)
    token, entry = new_token("guest", frozenset([READER]), ends)
    with guarded.tokens.open("a") as file:
        file.write(f"{entry.line()}\n")
    caller = guarded.ask("GET", "/v1/service", token).json()["caller"]
    assert caller["expires_at"] == "2099-01-01T00:00:00.000Z"
