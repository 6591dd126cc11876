"""Pages of the lineage graph as drawings: DOT for Graphviz, flowcharts for Mermaid.

Arrows go up, from what came later to what it came of; the first nodes have a thick border, what
is retracted a dashed red one.  A node is named alike in every drawing, so pages can be joined; a
trace that is written in two ways is one node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from streams.view_store.graph.merged import merge_spellings

Json = Mapping[str, Any]
_PLAIN = frozenset(" :/_.,=+-")


def dot(page: Json) -> str:
    page = merge_spellings(page)
    lines = ["digraph lineage {", "  rankdir=BT;", "  node [shape=box];"]
    lines += [f"  {_quoted(node['node'])}{_attributes(node)};" for node in page["nodes"]]
    for edge in page["items"]:
        ends = f"{_quoted(edge['from_node'])} -> {_quoted(edge['to_node'])}"
        lines.append(f"  {ends} [label={_quoted(edge['relation'])}];")
    return "\n".join([*lines, "}"])


def _attributes(node: Json) -> str:
    found = ["penwidth=3"] if node["distance"] == 0 else []
    if node["retracted_by"]:
        found += ["color=red", "style=dashed"]
    return f" [{', '.join(found)}]" if found else ""


def _quoted(text: str) -> str:
    shown = "".join(c if c.isprintable() else f"U+{ord(c):04X}" for c in text)
    return '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'


def mermaid(page: Json) -> str:
    page = merge_spellings(page)
    lines = [
        "flowchart BT",
        "    classDef start stroke-width:3px",
        "    classDef retracted stroke:red,stroke-dasharray:4",
    ]
    for node in page["nodes"]:
        own = _id(node["node"])
        lines.append(f'    {own}["{_entities(node["node"])}"]')
        lines += [f"    class {own} start"] if node["distance"] == 0 else []
        lines += [f"    class {own} retracted"] if node["retracted_by"] else []
    for edge in page["items"]:
        ends = _id(edge["from_node"]), _id(edge["to_node"])
        lines.append(f'    {ends[0]} -->|"{_entities(edge["relation"])}"| {ends[1]}')
    return "\n".join(lines)


def _id(node: str) -> str:
    return "n" + sha256(node.encode()).hexdigest()[:12]


def _entities(text: str) -> str:
    """With an entity for each character that may mean something to Mermaid."""
    return "".join(c if c.isalnum() or c in _PLAIN else f"#{ord(c)};" for c in text)


DRAWINGS: Mapping[str, Callable[[Json], str]] = {"dot": dot, "mermaid": mermaid}
