"""How much work a schema can make of a value, at most, and how deep it can lead.

A small schema can ask for a lot: each of thirty references that leads to the next one twice makes
a billion steps.  What is cheap goes to the fast engine, which nothing can stop; the rest to the one
that counts its steps.
"""

from __future__ import annotations

from typing import Any

from schemas.json_schema.graph import Graph, Node
from schemas.nesting import MAX_NESTING

_TEXT = 64
"""Characters that a pattern looks at in the time that a plain subschema takes."""
BEYOND = 10**9
"""Stands for any cost above it."""
MOST_DEPTH = 640
"""Ten for each level of a value; the fast engine's stack has been seen to end above 2,000."""


def cost_of(graph: Graph) -> int:
    """Subschemas that are looked at along one way from the root of a value to a leaf, at most."""
    if graph.dynamic:
        return BEYOND
    order = _in_order(graph.nodes)
    own = {id(node): _own(node.schema) for node in order}
    below = {id(node): 0 for node in order}
    for _ in range(MAX_NESTING):
        costs: dict[int, int] = {}
        for node in order:
            in_place = sum(costs[id(inner)] for inner in node.in_place)
            cost = own[id(node)] + in_place + _deeper(node, below)
            costs[id(node)] = min(cost, BEYOND)
        if costs == below or costs[id(graph.root)] >= BEYOND:
            below = costs
            break
        below = costs
    return below[id(graph.root)]


def depth_of(graph: Graph) -> int:
    """Subschemas that can be open at once, at most; BEYOND where it is more than MOST_DEPTH.

    The engines call themselves for each, and the fast one has no other bound than the stack.
    """
    order = _in_order(graph.nodes)
    below = {id(node): 0 for node in order}
    for _ in range(MAX_NESTING):
        depths: dict[int, int] = {}
        for node in order:
            inner = max((depths[id(inner)] for inner in node.in_place), default=0)
            child = max((below[id(child)] for _, child in node.children), default=0)
            depths[id(node)] = 1 + max(inner, child)
        if max(depths.values()) > MOST_DEPTH:
            return BEYOND
        if depths == below:
            break
        below = depths
    return below[id(graph.root)]


def _own(schema: Any) -> int:
    """The work that a subschema makes of one value by itself: keywords with long lists make more.

    Measured against the 0.3 µs of a plain one: a member of an `enum` of objects takes as long, one
    of `dependentRequired` a third, `multipleOf` 1 µs, with a far exponent 50 µs.
    """
    if not isinstance(schema, dict):
        return 1
    work = 1 + len(schema.get("required", ()))
    kinds = set(map(type, schema.get("enum", ())))
    if kinds not in ({str}, {int}):  # these are looked up by a hash
        work += len(schema.get("enum", ()))
    work += sum(1 + len(names) for names in schema.get("dependentRequired", {}).values())
    if "multipleOf" in schema:
        work += 5 if 1e-30 < schema["multipleOf"] < 1e30 else 200
    return work


def _deeper(node: Node, below: dict[int, int]) -> int:
    """The work for the one member or item that makes most."""
    named: dict[str, int] = {}
    several = 0
    for name, child in node.children:
        if name == "*":
            several += below[id(child)]
        else:
            named[name] = named.get(name, 0) + below[id(child)]
    return several + max(named.values(), default=0)


def _in_order(nodes: list[Node]) -> list[Node]:
    """Each behind those that apply in its place; there are no circles among these."""
    order: list[Node] = []
    seen: set[int] = set()
    for start in nodes:
        waiting = [(start, False)]
        while waiting:
            node, done = waiting.pop()
            if done:
                order.append(node)
            elif id(node) not in seen:
                seen.add(id(node))
                waiting.append((node, True))
                waiting += [(inner, False) for inner in node.in_place]
    return order


def values_in(value: Any) -> int:
    """Members, items and the value itself; long texts and names count as several."""
    count, layer = 0, [value]
    while layer:
        count += len(layer)
        below: list[Any] = []
        for item in layer:
            if isinstance(item, dict):
                below += item.values()
                count += sum(map(len, item)) // _TEXT
            elif isinstance(item, list):
                below += item
            elif isinstance(item, str):
                count += len(item) // _TEXT
        layer = below
    return count
