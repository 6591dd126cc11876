"""The lineage graph over HTTP and on the command line: a real gateway, worker and Kafka."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.integration import test_gateway_asap as asap
from tests.integration.system import Live
from tests.integration.test_gateway import got, sent
from tests.integration.test_gateway_sap import run
from tests.unit.envelopes import idea
from tests.unit.protocols.apc.queries.test_protocols import retraction
from tests.unit.protocols.asap.queries.stage import request
from tests.unit.protocols.sap.queries.stage import task
from tests.unit.views.graph.facts import distances, names

pytestmark = pytest.mark.slow

GRAPH = "/v1/lineage/graph"
Json = dict[str, Any]


@pytest.fixture
def http(system: Live) -> Iterator[httpx.Client]:
    with system.client as client:
        yield client


def test_a_story_of_three_protocols_and_a_retraction(system: Live, http: httpx.Client) -> None:
    trace = str(uuid.uuid4())
    of = {"trace__session_id": trace, "routing__requires_ack": False}
    root, child = idea(101, **of), idea(102, trace__parent_packet_id=idea(101)["packet_id"], **of)
    question = {**task(1), "taskId": str(uuid.uuid4()), "correlationId": trace}
    call = {**request(f"task-{trace}"), "trace_id": trace}
    last = [
        sent(http, "/v1/apc/packets", [root, child, retraction(103, 101, **of)])[-1],
        sent(http, "/v1/sap/tasks", question)[0],
        asap.sent(http, call)[0]["position"],
    ]
    for position in last:
        page = got(http, GRAPH, node=f"trace:{trace}", after=position)
    kinds = [node["kind"] for node in page["nodes"] if node["distance"] < 2]
    assert kinds == ["trace", *["apc:packet"] * 3, "asap:task", "sap:task"]
    pages = [got(http, GRAPH, node=f"trace:{trace}", limit="2")]
    while pages[-1]["next"] is not None:
        following = pages[-1]["next"]
        pages.append(got(http, GRAPH, node=f"trace:{trace}", limit="2", cursor=following))
    assert [item for each in pages for item in each["items"]] == page["items"]

    retracted = f"apc:packet:{root['packet_id']}"
    blast = got(http, GRAPH, node=retracted, direction="blast_radius")
    assert distances(blast) == {
        retracted: 0,
        f"apc:packet:{child['packet_id']}": 1,
        f"apc:packet:{retraction(103, 101)['packet_id']}": 1,
    }
    code, output = run(system, "lineage", retracted, "--direction", "blast_radius")
    assert (code, json.loads(output)) == (0, blast)
    code, drawing = run(system, "lineage", retracted, "--format", "mermaid")
    assert code == 0
    assert all(f'"{node["node"]}"' in drawing for node in blast["nodes"])


def test_an_unknown_node(http: httpx.Client) -> None:
    answer = http.get(GRAPH, params={"node": "apc:packet:nobody"})
    assert (answer.status_code, answer.json()["rule"]) == (404, "node_unknown")
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_packet_sent_again_draws_nothing_new(http: httpx.Client) -> None:
    packet = idea(104, trace__session_id=str(uuid.uuid4()))
    first, again = (sent(http, "/v1/apc/packets", packet)[0] for _ in range(2))
    page = got(http, GRAPH, node=f"apc:packet:{packet['packet_id']}", after=again)
    assert (names(page), page["items"][0]["cause"]) == (
        [f"apc:packet:{packet['packet_id']} same_trace trace:{packet['trace']['session_id']}"],
        first,
    )
