"""Diagrams say what the declarations say, edge for edge."""

from __future__ import annotations

import re

from topology import processors
from topology.diagrams import mermaid, mermaid_processors, mermaid_profile
from topology.machine import ANY
from topology.machines.apc_packet import MACHINE
from topology.machines.task_profiles import DEVS

EDGE = re.compile(r"^    (\S+) --> (\S+?)(?:: (.*))?$", re.MULTILINE)


def edges(diagram: str) -> list[tuple[str, str, str]]:
    return [(m[1], m[2], m[3] or "") for m in EDGE.finditer(diagram)]


def test_a_machine_is_drawn_with_all_its_edges_and_no_other() -> None:
    drawn = edges(mermaid(MACHINE))
    ends = [("[*]", "DRAFT", ""), *((str(state), "[*]", "") for state in MACHINE.terminal)]
    inner = [
        ("any_state" if state == ANY else state, str(target), event)
        for (state, event), target in MACHINE.edges.items()
    ]
    assert sorted(drawn) == sorted(ends + inner)


def test_the_edges_of_any_state_say_which_states_they_leave_out() -> None:
    assert 'state "any state but RETRACTED" as any_state' in mermaid(MACHINE)


def test_a_profile_is_drawn_with_its_guards() -> None:
    drawn = edges(mermaid_profile(DEVS))
    assert len(drawn) == len(DEVS.edges)
    assert ("COMPLETED", "PENDING", "[rewind_required]") in drawn


def test_the_graph_has_every_input_and_output_of_every_processor() -> None:
    graph = mermaid_processors(processors.ALL)
    arrows = sum(len(p.inputs) + len(p.outputs) for p in processors.ALL)
    assert len(edges(graph)) == arrows
    assert "    apc_packets --> processor_apc\n" in graph
    assert "    processor_apc --> rtes_raw\n" in graph
    assert '    apc_packet_states[("apc.packet-states")]\n' in graph


def test_each_topic_is_one_node() -> None:
    graph = mermaid_processors(processors.ALL)
    nodes = re.findall(r'^    (\w+)[\[(].*"(.*)"', graph, re.MULTILINE)
    assert len(nodes) == len({name for name, _ in nodes})
