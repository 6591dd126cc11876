"""Pages of the lineage graph as drawings: DOT for Graphviz, flowcharts for Mermaid.

Arrows point from a later node to its origin; start nodes have a thick border, retracted ones a
dashed red border.  A node has the same name in every drawing, so pages can be joined; the two
spellings of a trace are one node.
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
    lines += [f"  {_quote(node['node'])}{_attributes(node)};" for node in page["nodes"]]
    for edge in page["items"]:
        ends = f"{_quote(edge['from_node'])} -> {_quote(edge['to_node'])}"
        lines.append(f"  {ends} [label={_quote(edge['relation'])}];")
    return "\n".join([*lines, "}"])


def _attributes(node: Json) -> str:
    attributes = ["penwidth=3"] if node["distance"] == 0 else []
    if node["retracted_by"]:
        attributes += ["color=red", "style=dashed"]
    return f" [{', '.join(attributes)}]" if attributes else ""


def _quote(text: str) -> str:
    printable = "".join(c if c.isprintable() else f"U+{ord(c):04X}" for c in text)
    return '"' + printable.replace("\\", "\\\\").replace('"', '\\"') + '"'


def mermaid(page: Json) -> str:
    page = merge_spellings(page)
    lines = [
        "flowchart BT",
        "    classDef start stroke-width:3px",
        "    classDef retracted stroke:red,stroke-dasharray:4",
    ]
    for node in page["nodes"]:
        node_id = _id(node["node"])
        lines.append(f'    {node_id}["{_escape(node["node"])}"]')
        lines += [f"    class {node_id} start"] if node["distance"] == 0 else []
        lines += [f"    class {node_id} retracted"] if node["retracted_by"] else []
    for edge in page["items"]:
        ends = _id(edge["from_node"]), _id(edge["to_node"])
        lines.append(f'    {ends[0]} -->|"{_escape(edge["relation"])}"| {ends[1]}')
    return "\n".join(lines)


def _id(node: str) -> str:
    return "n" + sha256(node.encode()).hexdigest()[:12]


def _escape(text: str) -> str:
    """Replace each character that may have a meaning in Mermaid by an entity."""
    return "".join(c if c.isalnum() or c in _PLAIN else f"#{ord(c)};" for c in text)


DRAWINGS: Mapping[str, Callable[[Json], str]] = {"dot": dot, "mermaid": mermaid}
