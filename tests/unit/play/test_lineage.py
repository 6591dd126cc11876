"""Lineage and explanations in a scenario."""

from __future__ import annotations

from typing import Any

from tests.unit.envelopes import packet_id
from tests.unit.play.test_play import on, packet, run
from tests.unit.views.lineage.facts import evaluation, transfer


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
    asked, told = body(outputs, 0), body(outputs, 1)
    assert asked["rule"] == "top_k_exhausted"
    assert asked["counterfactual"]["passes"]
    assert asked["counterfactual"]["standing"] == "now"
    assert told["verdict"] == "accepted"
    # the refused packet came first, and the what-if asks about the time when it was asked
    assert asked["counterfactual"]["throttle"] == told["throttle"]


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
