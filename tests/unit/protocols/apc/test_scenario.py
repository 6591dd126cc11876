"""Lineage and explanations in a scenario."""

from __future__ import annotations

from typing import Any

from streams.cli.lineage_drawing import DRAWINGS
from tests.unit.envelopes import packet_id
from tests.unit.play.test_play import SCENARIOS, on, packet, run
from tests.unit.protocols.apc.queries.facts import evaluation, transfer


def query(text: str, **members: Any) -> dict[str, Any]:
    return {"query": text, **members}


def body(outputs: list[dict[str, Any]], number: int = -1) -> Any:
    answers = [output for output in outputs if "query" in output]
    assert answers[number]["status"] == 200, answers[number]
    return answers[number]["body"]


def explain(number: int, what_if: str = "") -> dict[str, Any]:
    return query(f"GET /v1/apc/sessions/s1/packets/{packet_id(number)}/explain?{what_if}")


def test_a_what_if_comes_true() -> None:
    outputs = run(
        packet(transfer(1)),
        packet(transfer(2, payload__to_swarm="swarm-c")),
        packet(transfer(3, payload__to_swarm="swarm-d")),
        explain(3, "generation=15"),
        packet(transfer(4, payload__to_swarm="swarm-d", trace__generation=15)),
        explain(4),
    )
    refused, actual = body(outputs, 0), body(outputs, 1)
    assert refused["rule"] == "top_k_exhausted"
    assert refused["counterfactual"]["passes"]
    assert refused["counterfactual"]["standing"] == "now"
    assert actual["verdict"] == "accepted"
    # the refused packet came first, and the what-if asks about the time when it was asked
    assert refused["counterfactual"]["throttle"] == actual["throttle"]


def test_a_decayed_protocol_is_seen_by_a_what_if() -> None:
    swarms = ["swarm-b", "swarm-c"] * 3
    lines = [
        packet(transfer(n, payload__to_swarm=swarm)) for n, swarm in enumerate(swarms, start=1)
    ]
    outputs = run(*lines, explain(1, "generation=21&standing=now"), explain(1, "to_swarm=swarm-c"))
    late, then = body(outputs, 0)["counterfactual"], body(outputs, 1)["counterfactual"]
    assert (late["decided_by"], late["throttle"]["decay"]["blocked"]) == ("protocol_decayed", True)
    assert (then["standing"], then["throttle"]["decay"]["blocked"]) == ("recorded", False)


def test_a_summary_is_the_same_after_a_restart() -> None:
    lines = [packet(transfer(1)), packet(evaluation(2, 0.7, 0.1))]
    summary = query("GET /v1/lineage/summary?run_id=r1")
    outputs = run(*lines, summary, {"restart": True}, summary)
    assert body(outputs, 0) == body(outputs, 1)
    assert body(outputs)["summary"]["baseline_outcome"] == 0.7


def test_arbitration_and_evaluation_write_nothing() -> None:
    outputs = run(
        query("POST /v1/apc/arbitrate?top_k=1", body=[transfer(1), transfer(2)]),
        query("POST /v1/apc/evaluate", body=evaluation(3, 0.9, 0.1)),
    )
    assert body(outputs, 0)["selected_count"] == 1
    assert body(outputs, 1)["promotable"]
    assert on(outputs, "apc.events") == []


def test_the_scenario_of_the_lineage_graph_shows_what_a_retraction_reaches() -> None:
    outputs = run(*(SCENARIOS / "lineage-graph.jsonl").read_text().splitlines())
    assert {each["kind"] for each in body(outputs, 0)["nodes"]} == {
        *("trace", "apc:packet", "sap:task", "asap:task"),
    }
    node = {number: f"apc:packet:{packet_id(number)}" for number in range(1, 7)}
    blast, page, near = (body(outputs, number) for number in (1, 2, 3))
    assert [(each["node"], each["retracted_by"]) for each in blast["nodes"]] == [
        (node[2], [node[5]]),
        (node[3], []),
        (node[4], []),
        (node[5], []),
    ]
    relations = [edge["relation"] for edge in blast["items"]]
    assert relations == ["child_of", "replaces", "retracts"]
    assert (len(page["items"]), page["cut"]) == (2, None)
    assert page["next"] is not None
    assert near["cut"] == {"by": "depth", "bound": 1}
    unknown = outputs[-1]
    assert (unknown["status"], unknown["body"]["rule"]) == (404, "node_unknown")


def test_the_page_on_lineage_shows_that_scenario_as_it_is_drawn() -> None:
    outputs = run(*(SCENARIOS / "lineage-graph.jsonl").read_text().splitlines())
    page = (SCENARIOS.parent / "docs" / "lineage.md").read_text()
    assert f"```mermaid\n{DRAWINGS['mermaid'](body(outputs, 1))}\n```\n" in page
