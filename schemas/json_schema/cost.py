"""The largest cost and depth that a schema can have for a value.

A small schema can cost a lot: thirty references, each of which leads to the next one twice, make a
billion steps.  Cheap schemas go to the fast engine, which cannot be interrupted; the others go to
the one that counts its steps.
"""

from __future__ import annotations

from typing import Any

from schemas.json_schema.graph import Graph, Node
from schemas.nesting import MAX_NESTING

_CHARS_PER_STEP = 64
"""Characters that a pattern matches in the time that a plain subschema takes."""
BEYOND = 10**9
"""The value for any cost or depth above it."""
MOST_DEPTH = 640
"""Ten for each level of a value; the stack of the fast engine was seen to overflow above 2,000."""


def cost_of(graph: Graph) -> int:
    """Return the most subschemas evaluated on one path from the root of a value to a leaf."""
    if graph.dynamic:
        return BEYOND
    order = _sort_bottom_up(graph.nodes)
    own_costs = {id(node): _own_cost(node.schema) for node in order}
    below = {id(node): 0 for node in order}
    for _ in range(MAX_NESTING):
        costs: dict[int, int] = {}
        for node in order:
            in_place = sum(costs[id(inner)] for inner in node.in_place)
            cost = own_costs[id(node)] + in_place + _max_child_cost(node, below)
            costs[id(node)] = min(cost, BEYOND)
        if costs == below or costs[id(graph.root)] >= BEYOND:
            below = costs
            break
        below = costs
    return below[id(graph.root)]


def depth_of(graph: Graph) -> int:
    """Return the largest number of subschemas open at once; BEYOND if it is more than MOST_DEPTH.

    The engines call themselves for each, and only the stack bounds the fast one.
    """
    order = _sort_bottom_up(graph.nodes)
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


def _own_cost(schema: Any) -> int:
    """Return the cost of a subschema for one value without its subschemas: long lists cost more.

    Measured against the 0.3 µs of a plain subschema: a member of an `enum` of objects takes as
    long, one of `dependentRequired` a third, `multipleOf` 1 µs, with a far exponent 50 µs.
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


def _max_child_cost(node: Node, below: dict[int, int]) -> int:
    """Return the cost of the member or item that costs most."""
    named: dict[str, int] = {}
    several = 0
    for name, child in node.children:
        if name == "*":
            several += below[id(child)]
        else:
            named[name] = named.get(name, 0) + below[id(child)]
    return several + max(named.values(), default=0)


def _sort_bottom_up(nodes: list[Node]) -> list[Node]:
    """Sort the nodes so that each follows its in-place subschemas, which have no cycles."""
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
    """Count a value, its members and items; long texts and names count as several."""
    count, layer = 0, [value]
    while layer:
        count += len(layer)
        below: list[Any] = []
        for item in layer:
            if isinstance(item, dict):
                below += item.values()
                count += sum(map(len, item)) // _CHARS_PER_STEP
            elif isinstance(item, list):
                below += item
            elif isinstance(item, str):
                count += len(item) // _CHARS_PER_STEP
        layer = below
    return count
