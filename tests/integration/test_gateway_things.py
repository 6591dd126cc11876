"""Things and traces over HTTP: a real gateway, worker and Kafka."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from streams.gateway.thing_responses import Thing, TraceThings
from tests.integration import test_gateway_asap as asap
from tests.integration.system import Live
from tests.integration.test_gateway import got, sent
from tests.unit.envelopes import idea
from tests.unit.protocols.asap.queries.stage import request

Json = dict[str, Any]


@pytest.fixture
def http(system: Live) -> Iterator[httpx.Client]:
    with system.client as client:
        yield client


def path_of(node: str) -> str:
    return f"/v1/things/{quote(node, safe='')}"


def test_a_packet_and_a_task_of_one_trace(http: httpx.Client) -> None:
    trace, other = str(uuid.uuid4()), str(uuid.uuid4())
    first = idea(7, trace__session_id=trace, routing__requires_ack=False)
    packet = {**first, "packet_id": str(uuid.uuid4())}
    again = {**packet, "trace": {**packet["trace"], "session_id": other}}
    node = f"apc:packet:{packet['packet_id']}"
    task_id = f"a/b%{trace}"
    task_node = "asap:task:" + task_id.replace("%", "%25").replace("/", "%2F")
    position = sent(http, "/v1/apc/packets", packet)[0]
    sent_task = asap.sent(http, {**request(task_id), "trace_id": trace})[0]["position"]

    thing = got(http, path_of(node), after=position)
    Thing.model_validate(thing)
    (step,) = thing["steps"]
    assert (thing["state"], step["to"], step["cause"]) == ("ARCHIVED", "ARCHIVED", position)
    assert got(http, thing["api"]) == thing["details"]
    assert got(http, path_of(node), as_of=step["fact"]) == thing
    assert {"command", "fact", "inbox"} == {record["role"] for record in thing["records"]}

    task = got(http, path_of(task_node), after=sent_task)
    Thing.model_validate(task)
    assert (task["node"], task["details"]["task"]["id"]) == (task_node, task_id)
    fact = task["steps"][0]["fact"]
    assert got(http, path_of(task_node), as_of=fact)["steps"] == task["steps"]

    whole = got(http, f"/v1/traces/{trace}")
    TraceThings.model_validate(whole)
    assert {node, task_node} <= {item["node"] for item in whole["items"]}

    last = sent(http, "/v1/apc/packets", again)[0]
    refused = http.get(path_of(node), params={"after": last})
    assert (refused.status_code, refused.json()["rule"]) == (409, "node_ambiguous")
    assert refused.json()["candidates"] == sorted([trace, other])
    assert got(http, path_of(node), session_id=trace)["session_id"] == trace


def test_what_nobody_knows_and_kinds_without_a_past(http: httpx.Client) -> None:
    unknown = http.get(path_of("apc:packet:nobody"))
    assert (unknown.status_code, unknown.json()["rule"]) == (404, "node_unknown")
    assert unknown.headers["content-type"] == "application/problem+json"
    refused = http.get(path_of("sap:playbook:a//b"), params={"as_of": "2026-01-01T00:00:00Z"})
    assert (refused.status_code, refused.json()["rule"]) == (422, "as_of_unsupported")
