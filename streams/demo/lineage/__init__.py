"""The last act: one leak, of which five protocols know a part each, and the tree that joins them.

The part of each protocol is a module of this package.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from streams.demo.case import GRAPH, Part, trace
from streams.demo.context import DemoContext, Json, act
from streams.demo.lineage import apc, asap, saop, sap, summit
from streams.view_store.graph.merged import merge_spellings

PARTS: tuple[Part, ...] = (apc.PART, sap.PART, summit.PART, asap.PART, saop.PART)
"""The parts of the case in the order of the story."""
KINDS: Mapping[str, int] = {
    "trace": 2,
    **{kind: count for part in PARTS for kind, count in part.kinds.items()},
}
"""Nodes of the tree."""


def one_tree(ctx: DemoContext) -> None:
    """Who asks for the trace is shown all of it."""
    node = f"trace:{trace(ctx)}"
    page = ctx.wait_for("the whole tree", lambda: _whole(ctx, node))
    for line in tree(merge_spellings(page)):
        ctx.say(f"    {line}")
    protocols = {each["kind"].partition(":")[0] for each in page["nodes"]} - {"trace"}
    ctx.expect("protocols", protocols, {part.protocol for part in PARTS})
    ctx.show("draw it", f"headrace lineage {node} --direction descendants --format dot")


def _whole(ctx: DemoContext, node: str) -> Json | None:
    page = ctx.get(GRAPH, f"node={node}&direction=descendants")
    return page if Counter(each["kind"] for each in page["nodes"]) == KINDS else None


def tree(page: Json) -> Iterator[str]:
    """Yield the descendants on a page, each below the first node that it was derived from."""
    below: dict[str, list[tuple[str, str]]] = {}
    placed = {each["node"] for each in page["nodes"] if each["distance"] == 0}
    roots = sorted(placed)
    for edge in page["items"]:
        if edge["from_node"] not in placed:
            placed.add(edge["from_node"])
            below.setdefault(edge["to_node"], []).append((edge["relation"], edge["from_node"]))
    for root in roots:
        yield root
        yield from _branches(root, below, "  ")


def _branches(node: str, below: Json, indent: str) -> Iterator[str]:
    for relation, name in below.get(node, ()):
        yield f"{indent}{name}  ({relation})"
        yield from _branches(name, below, indent + "  ")


STEPS: tuple[Callable[[DemoContext], None], ...] = (
    *(part.tell for part in PARTS),
    one_tree,
    apc.taken_back,
)


def tell(ctx: DemoContext) -> None:
    """Run act six.  Raises DemoFailed at the first failed check."""
    ctx.say("\nAct six: one leak, five protocols, one tree.")
    if not all(part.possible(ctx) for part in PARTS):
        ctx.say(
            "    left out: it is written for the default settings, and agents without manifests"
        )
        return
    act(ctx, "six", STEPS)
