"""The lineage graph that processors draw, as the routes show it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from streams.gateway.openapi import document
from streams.log.record_json import value_json
from streams.play.scenario import play
from streams.settings import Settings
from tests.unit.envelopes import ack, idea, packet_id, transition
from tests.unit.protocols.apc.queries.facts import transfer
from tests.unit.protocols.apc.queries.test_protocols import retraction
from tests.unit.protocols.sap.queries.stage import task, task_id
from tests.unit.views.bench import Bench
from tests.unit.views.graph.facts import distances, names
from topology.core import LINEAGE_EDGES
from topology.lineage import NODE_KINDS, RELATIONS, kind_of

GRAPH = "/v1/lineage/graph"
SCENARIOS = Path(__file__).resolve().parents[3] / "scenarios"
DRAWING = (
    *("lineage-graph", "promotion", "saop-failures", "saop-stream", "rtes-rewind"),
    *("sap-cache", "sap-signals", "sap-tasks", "asap-calls", "asap-event-sourced", "asap-tasks"),
    *("summit-calls", "summit-cancel", "summit-judging", "summit-manifests", "summit-run"),
    "five-protocols",
)
"""Scenarios in which many kinds of edges are drawn."""
Json = dict[str, Any]


def node(number: int) -> str:
    return f"apc:packet:{packet_id(number)}"


def look(bench: Bench, name: str, **query: Any) -> Json:
    page: Json = bench.look(GRAPH, urlencode({"node": name, **query}))
    return page


@pytest.fixture
def story(bench: Bench) -> Bench:
    """Packet 2 is a child of 1, 3 of 2; 2 is retracted by 4."""
    bench.send("apc.packets", idea(1))
    for child in (2, 3):
        bench.send("apc.packets", idea(child, trace__parent_packet_id=packet_id(child - 1)))
    bench.send("apc.packets", ack(idea(1), 5), retraction(4, 2))
    return bench


def test_ancestors_of_a_packet(story: Bench) -> None:
    page = look(story, node(3), direction="ancestors")
    assert distances(page) == {node(3): 0, "trace:s1": 1, node(2): 1, node(1): 2}


def test_as_of_hides_the_edges_that_were_written_later(bench: Bench) -> None:
    (first,) = bench.send("apc.packets", idea(1))
    (child,) = bench.send("apc.packets", idea(2, trace__parent_packet_id=packet_id(1)))
    bench.view.catch_up(0)
    assert distances(look(bench, node(1), as_of=first)) == {node(1): 0, "trace:s1": 1}
    assert node(2) in distances(look(bench, node(1), as_of=child))
    assert look(bench, node(1), as_of=child)["items"] == look(bench, node(1))["items"]
    refused = bench.get(GRAPH, urlencode({"node": node(2), "as_of": first}))
    assert (refused.status, refused.body["rule"]) == (404, "node_unknown")


def test_the_blast_radius_of_a_retraction(story: Bench) -> None:
    for node_name in (node(2), node(4)):
        page = look(story, node_name, direction="blast_radius")
        assert names(page) == [
            f"{node(3)} child_of {node(2)}",
            f"{node(4)} retracts {node(2)}",
        ]
        assert page["nodes"][0] == {
            "node": node(2),
            "kind": "apc:packet",
            "distance": 0,
            "retracted_by": [node(4)],
        }


def test_edges_are_those_on_the_log(story: Bench) -> None:
    written = [value_json(LINEAGE_EDGES, record) for record in story.records("lineage.edges")]
    page = look(story, "trace:s1", direction="descendants")
    assert sorted(page["items"], key=str) == sorted(written, key=str)


def test_an_edge_that_every_packet_draws_has_its_first_cause(bench: Bench) -> None:
    lineage = {"protocol_id": "px", "parent_protocol_ids": ["p/0"]}
    swarms = ("swarm-b", "swarm-c")
    packets = [transfer(n, payload__to_swarm=to) for n, to in enumerate(swarms, start=1)]
    sent = [bench.send("apc.packets", {**packet, "lineage": lineage}) for packet in packets]
    (edge,) = look(bench, "apc:protocol:p/0")["items"][:1]
    assert (edge["from_node"], edge["cause"]) == ("apc:protocol:px", sent[0][0])
    assert look(bench, "apc:protocol:p/0")["items"][1:] != []


def test_a_trace_joins_protocols(bench: Bench) -> None:
    trace = task(1)["correlationId"]
    bench.send("apc.packets", idea(1, trace__session_id=trace))
    bench.send("sap.tasks", task(1))
    bench.send("rtes.raw", transition(1))
    kinds = {each["kind"] for each in look(bench, f"trace:{trace}")["nodes"]}
    assert kinds >= {"trace", "apc:packet", "sap:task"}
    up = look(bench, f"sap:task:{task_id(1)}", direction="ancestors")
    assert f"trace:{trace}" in distances(up)


def test_an_unknown_node_is_a_404_with_a_code(story: Bench) -> None:
    story.view.catch_up(0)
    answer = story.get(GRAPH, "node=apc:packet:nobody")
    assert (answer.status, answer.body["rule"]) == (404, "node_unknown")


def test_a_packet_that_was_refused_has_no_node(bench: Bench) -> None:
    bench.send("apc.packets", transfer(1, trace__generation=1))
    bench.view.catch_up(0)
    assert bench.get(GRAPH, urlencode({"node": node(1)})).status == 404


def test_read_your_writes(bench: Bench) -> None:
    (position,) = bench.send("apc.packets", idea(1))
    answer = bench.get(GRAPH, urlencode({"node": node(1), "after": position}))
    assert (answer.status, names(answer.body)) == (200, [f"{node(1)} same_trace trace:s1"])


def test_a_view_that_is_rebuilt_or_reopened_shows_the_same(story: Bench) -> None:
    query = {"direction": "both", "limit": 3}
    before = look(story, node(2), **query)
    story.reopen_view()
    assert look(story, node(2), **query) == before
    story.folder = story.folder / "another"
    story.reopen_view()
    assert look(story, node(2), **query) == before


def test_the_route_is_described() -> None:
    operation: Any = document(Settings())["paths"][GRAPH]["get"]
    parameters = {each["name"]: each for each in operation["parameters"]}
    assert parameters["node"]["required"]
    names_of_all = {"node", "direction", "depth", "limit", "cursor", "after", "fresh", "as_of"}
    assert set(parameters) == names_of_all


@pytest.mark.parametrize("name", DRAWING)
def test_every_node_and_relation_that_is_drawn_is_declared(name: str) -> None:
    lines = (SCENARIOS / f"{name}.jsonl").read_text().splitlines()
    kinds = {kind.name for kind in NODE_KINDS}
    relations = {relation.name for relation in RELATIONS}
    drawn = [
        line["value"]
        for line in play(lines, Settings(partitions=1))
        if line.get("topic") == LINEAGE_EDGES.name
    ]
    assert {kind_of(e[end]) for e in drawn for end in ("from_node", "to_node")} <= kinds
    assert {edge["relation"] for edge in drawn} <= relations
