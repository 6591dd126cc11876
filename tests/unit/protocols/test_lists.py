"""The lists of protocols agree, and each protocol contributes what hosts iterate."""

from __future__ import annotations

from pathlib import Path

import streams.protocols
from streams.protocols.commands import COMMANDS
from streams.protocols.queries import QUERIES
from topology.processors import ALL, inputs
from topology.topics import BY_NAME

SLICES = Path(streams.protocols.__path__[0]).glob("*/ingress.py")


def test_both_lists_name_the_same_protocols_in_the_same_order() -> None:
    names = [side.name for side in COMMANDS]
    assert names == [side.name for side in QUERIES]
    assert set(names) == {path.parent.name for path in SLICES}


def test_each_declared_processor_is_made_by_one_protocol() -> None:
    made = [make().declaration for side in COMMANDS for make in side.processors]
    assert made == list(ALL)


def test_each_command_topic_is_an_edge_of_one_protocol_and_has_a_sender() -> None:
    edges = [edge.topic for side in COMMANDS for edge in side.edges]
    assert len(edges) == len(set(edges))
    assert set(edges) <= set(inputs())
    assert set(edges) == {topic for side in COMMANDS for topic in side.senders}


def test_a_kind_of_envelope_and_a_fact_belong_to_one_protocol() -> None:
    kinds = [kind.name for side in COMMANDS for kind in side.kinds]
    facts = [topic for side in COMMANDS for topic in side.checks]
    assert len(kinds) == len(set(kinds))
    assert len(facts) == len(set(facts))


def test_each_topic_of_a_view_is_declared_and_projected_once() -> None:
    projected = [name for side in QUERIES for name in side.projection]
    assert len(projected) == len(set(projected))
    assert set(projected) <= set(BY_NAME)


def test_each_route_has_the_model_of_its_answer() -> None:
    for side in QUERIES:
        names = {route.answer for route in side.routes} - {"Positions", "Placed"}
        assert names <= set(side.responses()), side.name
