"""The documents that headrace generates, as the parsers of their makers read them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from streams.api.asyncapi import PUBLIC, document
from streams.cli.lineage_drawing import mermaid
from streams.docs import DIRECTORY
from streams.settings import Settings
from tests.interop.node_tools import NodeTools
from topology.headers import headers_of

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ADVICE = ("asyncapi-latest-version",)
"""Diagnostics that find nothing wrong."""
SECURED = Settings(
    prefix="acme.",
    bootstrap="one:9092,two:9092",
    security_protocol="SASL_SSL",
    security_sasl_mechanism="SCRAM-SHA-256",
)


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> NodeTools:
    return NodeTools(tmp_path_factory.mktemp("interop"))


def wrong(report: dict[str, Any]) -> list[Any]:
    return [each for each in report["diagnostics"] if each["code"] not in ADVICE]


def test_the_asyncapi_parser_finds_all_topics_and_nothing_wrong(tools: NodeTools) -> None:
    committed = (DIRECTORY / "asyncapi.json").read_text(encoding="utf-8")
    report = tools.ask("asyncapi.js", committed)
    assert wrong(report) == []
    assert report["channels"] == [topic.name for topic in PUBLIC]
    assert set(report["operations"]) == set(json.loads(committed)["operations"])
    for topic in PUBLIC:
        assert set(report["headers"][topic.name]) == {header.name for header in headers_of(topic)}


def test_the_asyncapi_parser_takes_the_document_of_a_secured_cluster(tools: NodeTools) -> None:
    assert wrong(tools.ask("asyncapi.js", json.dumps(document(SECURED)))) == []


def test_the_asyncapi_parser_is_one_that_says_what_is_wrong(tools: NodeTools) -> None:
    spoiled = document(Settings())
    spoiled["operations"]["clients.send.apc.packets"]["channel"] = {"$ref": "#/channels/nothing"}
    spoiled["components"]["schemas"]["headrace.apc.ApcEvent"]["schema"]["fields"] = 7
    assert wrong(tools.ask("asyncapi.js", json.dumps(spoiled))) != []


def test_mermaid_draws_every_diagram_of_the_documentation(tools: NodeTools) -> None:
    diagrams = {
        f"{page.name} {number}": diagram
        for page in PAGES
        for number, diagram in enumerate(DIAGRAM.findall(page.read_text(encoding="utf-8")))
    }
    assert len(diagrams) > 15
    messages = tools.ask("mermaid.js", json.dumps(list(diagrams.values())))
    assert {
        name: message for name, message in zip(diagrams, messages, strict=True) if message
    } == {}


def test_mermaid_draws_nodes_of_the_lineage_graph_whatever_they_are_called(
    tools: NodeTools,
) -> None:
    names = ['sap:task:"x"', "asap:task:a%2Fb", "summit:run:end", "trace:<b>&amp;</b>", "trace:é#;"]
    nodes = [{"node": name, "kind": "k", "distance": 0, "retracted_by": []} for name in names]
    edges = [
        {"from_node": names[0], "relation": "caused_by", "to_node": name} for name in names[1:]
    ]
    drawn = mermaid({"nodes": nodes, "items": edges})
    assert tools.ask("mermaid.js", json.dumps([drawn, "flowchart LR\n  a -->"]))[0] is None
    assert tools.ask("mermaid.js", json.dumps(["flowchart LR\n  a -->"])) != [None]
