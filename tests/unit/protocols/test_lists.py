"""The lists of protocols agree, and each protocol contributes what hosts iterate."""

from __future__ import annotations

import re
from pathlib import Path

import streams.protocols
from streams.api.description import Body, Description
from streams.cli.commands import BY_PROTOCOL, PROTOCOLS
from streams.gateway.descriptions import HOST
from streams.gateway.openapi import document
from streams.processing.ingress import EnvelopeType
from streams.protocols.commands import COMMANDS
from streams.protocols.queries import QUERIES
from streams.routes.table import ROUTES
from streams.settings import Settings
from topology.machines import task_profiles
from topology.processors import ALL, inputs
from topology.topics import BY_NAME

DESCRIPTIONS: list[Description] = [side.description() for side in QUERIES]
BODIES: list[Body] = [body for each in DESCRIPTIONS for body in each.bodies]
DOCUMENT = document(Settings())
OPERATIONS = [
    (method.upper(), path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]
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


def test_the_tags_of_the_document_are_those_of_the_protocols_in_their_order() -> None:
    tags = [tag for each in (*DESCRIPTIONS, HOST) for tag in each.tags]
    assert len(tags) == len(set(tags))
    assert [tag["name"] for tag in DOCUMENT["tags"]] == [
        *tags,
        "console",
        "mcp",
        "tlog",
        "otlp",
        "a2a",
        "registry",
        "service",
    ]
    for side, each in zip(QUERIES, DESCRIPTIONS, strict=True):
        assert {route.tag for route in side.routes} <= set(each.tags), side.name


def test_each_body_of_a_route_belongs_to_its_protocol_and_has_schemas_and_examples() -> None:
    assert len(BODIES) == len({body.name for body in BODIES})
    for side, each in zip(QUERIES, DESCRIPTIONS, strict=True):
        used = {route.body for route in side.routes if route.body is not None}
        assert used <= {body.name for body in each.bodies}, side.name
    for body in BODIES:
        assert body.name.replace("/", ".") in body.components()
        assert body.components().items() <= DOCUMENT["components"]["schemas"].items()


def test_the_examples_of_a_body_are_those_of_its_protocol() -> None:
    by_name = {body.name: body for body in (*BODIES, *HOST.bodies)}
    for route in ROUTES:
        if route.body is not None:
            operation = DOCUMENT["paths"][route.template][route.method.lower()]
            content = operation["requestBody"]["content"]["application/json"]
            assert content["examples"] == by_name[route.body].examples() != {}


def test_an_id_of_paths_is_described_by_each_protocol_that_has_it_and_alike() -> None:
    for side, each in zip(QUERIES, DESCRIPTIONS, strict=True):
        used = {name for route in side.routes for name in re.findall(r"{(\w+)}", route.template)}
        assert used == set(each.ids), side.name
    for name in {name for each in DESCRIPTIONS for name in each.ids}:
        assert len({each.ids[name] for each in DESCRIPTIONS if name in each.ids}) == 1, name


def test_endpoints_beside_the_routes_say_what_they_need_of_a_token() -> None:
    for side, each in zip(QUERIES, DESCRIPTIONS, strict=True):
        paths = each.paths(lambda parameter: {"name": parameter.name})
        described = {(method.upper(), path) for path in paths for method in paths[path]}
        assert described == set(each.needs), side.name
        assert bool(described) == (side.endpoints is not None), side.name
        assert described <= {(method, path) for method, path, _ in OPERATIONS}


def test_the_command_line_names_the_protocols_their_topics_and_kinds() -> None:
    assert [side.name for side in COMMANDS] == list(PROTOCOLS)
    for side, surface in zip(COMMANDS, BY_PROTOCOL, strict=True):
        topics = [_with_yaml(edge.topic.name, edge.kind) for edge in side.edges]
        assert topics == list(surface.topics)
        assert [_with_yaml(kind.name, kind) for kind in side.kinds] == list(surface.kinds)


def _with_yaml(name: str, kind: EnvelopeType) -> str:
    return name if kind.other_text is None else f"{name} (YAML too)"


def test_tasks_of_saop_come_from_processors_of_the_other_protocols() -> None:
    assert {*task_profiles.PROTOCOLS, "saop"} == set(PROTOCOLS)


def test_commands_of_a_protocol_lie_in_its_folder_and_are_named_once() -> None:
    names = [name for surface in BY_PROTOCOL for name in surface.groups]
    assert len(names) == len(set(names))
    for surface in BY_PROTOCOL:
        entries = [each for group in surface.groups.values() for each in group.commands.values()]
        folders = {each.module.rpartition(".")[0] for each in entries}
        assert folders - {""} == {surface.protocol}
