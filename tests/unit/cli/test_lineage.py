"""`headrace lineage`: what it asks, and what it draws."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from streams.cli.lineage_drawing import DRAWINGS
from tests.unit.cli.looking import look_at
from tests.unit.cli.test_cli import run
from tests.unit.envelopes import idea, packet_id
from tests.unit.protocols.apc.queries.test_protocols import retraction
from tests.unit.views.bench import Bench
from tests.unit.views.graph.facts import Graph, drawn

Json = dict[str, Any]
NODES = {number: f"apc:packet:{packet_id(number)}" for number in range(1, 5)}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Packet 2 is a child of 1 and was retracted by 3."""
    system = Bench(tmp_path)
    look_at(system, monkeypatch)
    child = idea(2, trace__parent_packet_id=packet_id(1))
    system.send("apc.packets", idea(1), child, retraction(3, 2))
    yield system
    system.close()


def graph() -> Json:
    """A retracted node with an odd name, and a cycle."""
    edges = drawn("a part_of b", 'r retracts "b\\', 'c derived_from "b\\', '"b\\ part_of c')
    return Graph(edges).ask('"b\\', direction="blast_radius")


def test_the_answer_is_that_of_the_route(bench: Bench) -> None:
    out = run("lineage", NODES[2])
    assert out.exit_code == 0, out.output
    assert json.loads(out.stdout) == bench.look("/v1/lineage/graph", f"node={NODES[2]}")


def test_options_are_the_parameters_of_the_route(bench: Bench) -> None:
    out = run("lineage", NODES[3], "--direction", "blast_radius", "--depth", "1", "--limit", "1")
    page = json.loads(out.stdout)
    query = f"node={NODES[3]}&direction=blast_radius&depth=1&limit=1"
    assert page == bench.look("/v1/lineage/graph", query)
    more = run("lineage", NODES[2], "--limit", "2", "--depth", "4")
    second_page = run(
        "lineage", NODES[2], "--depth", "4", "--cursor", json.loads(more.stdout)["next"]
    )
    assert len(json.loads(second_page.stdout)["items"]) == 4 - 2


def test_a_graph_is_shown_as_it_was(bench: Bench) -> None:
    edges = bench.look("/v1/lineage/graph", f"node={NODES[2]}")["items"]
    cause = next(each["cause"] for each in edges if each["relation"] != "retracts")
    before = json.loads(run("lineage", NODES[2], "--as-of", cause).stdout)
    assert before == bench.look("/v1/lineage/graph", f"node={NODES[2]}&as_of={cause}")
    assert "retracts" in {each["relation"] for each in edges}
    assert "retracts" not in {each["relation"] for each in before["items"]}
    assert run("lineage", NODES[2], "--as-of", "noon").exit_code == 2


def test_an_unknown_node_is_a_negative_answer(bench: Bench) -> None:
    out = run("lineage", NODES[4])
    assert (out.exit_code, out.stdout) == (1, "")
    assert NODES[4] in out.stderr


@pytest.mark.parametrize("option", [("--depth", "0"), ("--direction", "up"), ("--format", "png")])
def test_wrong_usage(bench: Bench, option: tuple[str, str]) -> None:
    assert run("lineage", NODES[1], *option).exit_code == 2


@pytest.mark.parametrize("form", sorted(DRAWINGS))
def test_a_drawing_has_every_node_and_edge_and_says_what_is_missing(
    bench: Bench, form: str
) -> None:
    whole = run("lineage", NODES[2], "--format", form)
    assert whole.exit_code == 0, whole.output
    assert whole.stderr == ""
    for number in (1, 2, 3):
        assert NODES[number] in whole.stdout
    assert re.findall("child_of|retracts|same_trace", whole.stdout) == [
        *("child_of", "same_trace", "retracts", "same_trace")
    ]
    part = run("lineage", NODES[2], "--format", form, "--limit", "1")
    assert part.stderr.startswith("more with --cursor ")
    near = run("lineage", NODES[3], "--format", form, "--depth", "1", "--direction", "ancestors")
    assert near.stderr == "cut by depth at 1\n"


def test_dot_quotes_names_and_marks_what_is_retracted() -> None:
    lines = DRAWINGS["dot"](graph()).splitlines()
    assert lines[0] == "digraph lineage {"
    assert lines[-1] == "}"
    assert r'  "\"b\\" [penwidth=3, color=red, style=dashed];' in lines
    assert r'  "c" -> "\"b\\" [label="derived_from"];' in lines
    assert '  "r";' in lines


def test_mermaid_writes_entities_and_names_a_node_alike_in_every_drawing() -> None:
    lines = DRAWINGS["mermaid"](graph()).splitlines()
    assert lines[0] == "flowchart BT"
    (node,) = (line.split("[")[0].strip() for line in lines if line.endswith('["#34;b#92;"]'))
    assert {f"    class {node} start", f"    class {node} retracted"} <= set(lines)
    other = DRAWINGS["mermaid"](Graph(drawn('x part_of "b\\')).ask("x"))
    assert f'    {node}["#34;b#92;"]' in other.splitlines()
    assert sum(line.endswith(f" {node}") for line in lines) == 2


def test_what_cannot_be_printed_is_told_by_its_code() -> None:
    page = Graph(drawn("x part_of y")).ask("x")
    page["nodes"][0]["node"] = "line\nbreak\0"
    assert '"lineU+000AbreakU+0000"' in DRAWINGS["dot"](page)
    assert '"line#10;break#0;"' in DRAWINGS["mermaid"](page)
