"""Pages of the lineage graph as a tree: what a node came of, and what it led to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from streams.cli.cells import Cell
from streams.cli.text import Page
from streams.cli.tree_stems import ASCII

Json = Mapping[str, Any]
CAME_OF, LED_TO = "came of", "led to"


class Branch(NamedTuple):
    """A line of the tree.  indent: the lines of its parents.  last: of its siblings."""

    way: str
    relation: str
    node: str
    indent: str
    last: bool


def show_tree(graph: Json, page: Page) -> None:
    """Print the tree below each start node.  A node that was printed before has no branches."""
    retracted = {node["node"]: node["retracted_by"] for node in graph["nodes"]}
    branches = _branches(graph["items"])
    for start in (node["node"] for node in graph["nodes"] if node["distance"] == 0):
        _print_node(page, "", page.id(start, "bold"), retracted.get(start))
        _print_branches(page, start, branches, retracted)


def _branches(edges: list[Json]) -> Mapping[tuple[str, str], list[tuple[str, str]]]:
    """Return relation and node of the neighbours, by node and way."""
    branches: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for edge in edges:
        branches[edge["from_node"], CAME_OF].append((edge["relation"], edge["to_node"]))
        branches[edge["to_node"], LED_TO].append((edge["relation"], edge["from_node"]))
    return branches


def _print_branches(
    page: Page,
    start: str,
    branches: Mapping[tuple[str, str], list[tuple[str, str]]],
    retracted: Mapping[str, list[str]],
) -> None:
    """Print what is below a start node; each way goes on in its own direction."""
    printed = {start}
    waiting = _below(start, (CAME_OF, LED_TO), "", branches)
    while waiting:
        branch = waiting.pop()
        is_again = branch.node in printed
        stem = f"{branch.indent}{'└─ ' if branch.last else '├─ '}{branch.way:<7}   "
        relation = page.plain(f"{branch.relation:<12}").text
        node = page.id(branch.node)
        cell = page.joined(relation, node, *(["(above)"] if is_again else []))
        _print_node(page, stem, cell, retracted.get(branch.node))
        if not is_again:
            printed.add(branch.node)
            indent = branch.indent + ("   " if branch.last else "│  ")
            waiting += _below(branch.node, (branch.way,), indent, branches)


def _below(
    node: str,
    ways: tuple[str, ...],
    indent: str,
    branches: Mapping[tuple[str, str], list[tuple[str, str]]],
) -> list[Branch]:
    """Return the branches below a node, the last one first."""
    below = [(way, *neighbour) for way in ways for neighbour in branches.get((node, way), ())]
    return [
        Branch(way, relation, neighbour, indent, n == 0)
        for n, (way, relation, neighbour) in enumerate(reversed(below))
    ]


def _print_node(page: Page, stem: str, node: Cell, retracted_by: list[str] | None) -> None:
    text = f"{stem}{node.text}"
    if retracted_by:
        text += f"  retracted by {', '.join(page.id(each).text for each in retracted_by)}"
    style = "red" if retracted_by else node.style
    page.line(Cell(text.translate(ASCII) if page.ascii else text, style))
