"""Lineage edges of every kind of packet, and their ids."""

from __future__ import annotations

import hashlib

import pytest

from tests.unit.processing.harness import START_MS, Sent
from tests.unit.protocols.apc.processor.packets import (
    Bench,
    Json,
    ack,
    candidate,
    evaluation,
    packet,
    pid,
    retraction,
    transfer,
)
from topology.core import LINEAGE_EDGES


def node(n: int) -> str:
    return f"apc:packet:{pid(n)}"


def drawn(sent: list[Sent]) -> list[tuple[str, str, str]]:
    edges = [one.value for one in sent if one.topic is LINEAGE_EDGES]
    return [(edge["from_node"], edge["relation"], edge["to_node"]) for edge in edges]


def rooted(made: Json, **members: str) -> Json:
    made["trace"].update(members)
    return made


LINEAGE = {"protocol_id": "px", "parent_protocol_ids": ["pa", "pb", "pa"]}
PARENTS = [
    ("apc:protocol:px", "derived_from", "apc:protocol:pa"),
    ("apc:protocol:px", "derived_from", "apc:protocol:pb"),
]


@pytest.mark.parametrize(
    ("made", "edges"),
    [
        (packet("IDEA", 9), []),
        (rooted(packet("IDEA", 9), parent_packet_id=pid(7)), [(node(9), "child_of", node(7))]),
        (rooted(packet("IDEA", 9), root_packet_id=pid(6)), [(node(9), "part_of", node(6))]),
        (
            rooted(packet("IDEA", 9), root_packet_id=pid(6).upper(), parent_packet_id=pid(6)),
            [(node(9), "child_of", node(6)), (node(9), "part_of", node(6))],
        ),
        (ack(9, 1, "sentinel-1"), [(node(9), "acknowledges", node(1))]),
        (ack(9, 1, "sentinel-1", nack=True), [(node(9), "acknowledges", node(1))]),
        (retraction(9, 1), [(node(9), "retracts", node(1))]),
        (
            packet(
                "RETRACTION",
                9,
                payload={"target_packet_id": pid(1), "replacement_packet_id": pid(5)},
            ),
            [(node(9), "retracts", node(1)), (node(5), "replaces", node(1))],
        ),
        (transfer(9), [(node(9), "transfers", "apc:protocol:px")]),
        (
            transfer(9, lineage=LINEAGE),
            [(node(9), "transfers", "apc:protocol:px"), *PARENTS],
        ),
        (
            packet("ARTIFACT", 9, lineage=LINEAGE),
            [(node(9), "derived_from", "apc:protocol:px"), *PARENTS],
        ),
        (
            evaluation(9, 1, 2, 1),
            [(node(9), "evaluates", node(1)), (node(9), "evaluates", node(2))],
        ),
        (
            packet("EVAL", 9, proof_bundle={"evidence_refs": ["packet:no", f"PACKET:{pid(1)}"]}),
            [],
        ),
        (
            packet(
                "ARBITRATION",
                9,
                payload={"candidates": [candidate("one", 1, pid(3)), candidate("two", 0, pid(3))]},
            ),
            [(node(9), "evaluates", node(3))],
        ),
        (packet("CLAIM", 9, proof_bundle={"evidence_refs": [f"packet:{pid(1)}"]}), []),
    ],
)
def test_edges(made: Json, edges: list[tuple[str, str, str]]) -> None:
    bench = Bench()
    bench.give(packet("IDEA", 1))
    sent = bench.decide_json(made)
    assert drawn(sent) == [(node(9), "same_trace", "trace:sess-01"), *edges]


def test_an_edge_is_named_by_what_it_joins() -> None:
    bench = Bench()
    (edge,) = bench.of(LINEAGE_EDGES, bench.decide_json(packet("IDEA", 1), START_MS + 5))
    name = hashlib.sha256(f"{node(1)}|same_trace|trace:sess-01".encode()).hexdigest()
    assert edge.key == edge.id == edge.value["edge_id"] == name
    assert (edge.value["at"], edge.value["cause"]) == (START_MS + 5, "apc.packets/0/0")


@pytest.mark.parametrize(
    "made",
    [
        packet("EVAL", 1, run_phase="RESEARCH"),
        packet("IDEA", 1, confidence=2),
        packet("IDEA", 1, expires_at="2025-01-01T00:00:00Z"),
        transfer(1, policy={"top_k": 3}),
    ],
)
def test_a_packet_without_effect_draws_none(made: Json) -> None:
    bench = Bench()
    assert drawn(bench.decide_json(made)) == []
    assert bench.deltas() == []
