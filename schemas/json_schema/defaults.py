"""Defaults that are filled into a value before validation (Summit 2.6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from schemas.canonical import canonical_json
from schemas.json_schema.errors import DefaultsTooLarge
from schemas.json_schema.graph import Graph, Node

_MOST_WORK = 2_000_000
"""Subschemas that are looked at for one value: about a second."""


class Filler:
    """Fills in what a schema has defaults for; for one without any it does nothing.

    most: bytes of canonical JSON that the defaults of one value may have together.
    """

    def __init__(self, graph: Graph, most: int) -> None:
        self._root = graph.root
        self._most = most
        self._sizes = {
            id(node): len(canonical_json(node.schema["default"])) for node in reached(graph.root)
        }

    def filled(self, value: Any) -> Any:
        """A copy with the defaults; the value itself where there are none to fill in.

        Raises DefaultsTooLarge.
        """
        return (
            _Filling(self._sizes, self._most).value(value, (self._root,)) if self._sizes else value
        )


def reached(root: Node) -> Iterator[Node]:
    """The subschemas with a default that the walk can come to."""
    seen: set[int] = set()
    yielded: set[int] = set()
    waiting = [root]
    while waiting:
        for node in _applying([waiting.pop()]):
            if id(node) in seen:
                continue
            seen.add(id(node))
            for inner in node.properties.values():
                for one in _applying([inner]):
                    if has_default(one) and id(one) not in yielded:
                        yielded.add(id(one))
                        yield one
                waiting.append(inner)
            if node.items is not None:
                waiting.append(node.items)


def has_default(node: Node) -> bool:
    return isinstance(node.schema, dict) and "default" in node.schema


def _applying(nodes: Iterable[Node]) -> list[Node]:
    """Each schema, then what its `$ref` leads to, then its `allOf`; none of them twice."""
    found: dict[int, Node] = {}
    waiting = list(nodes)[::-1]
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found[id(node)] = node
            waiting += node.all_of[::-1]
            if node.ref is not None:
                waiting.append(node.ref)
    return list(found.values())


class _Plan:
    """What several schemas ask of one value together.

    members: by name, the schemas of that member.  defaults: of members that may be absent.
    items: schemas of items, and the index from which each applies.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        applying = _applying(nodes)
        self.members: dict[str, tuple[Node, ...]] = {}
        self.defaults: dict[str, Node] = {}
        self.items: list[tuple[int, Node]] = []
        self.work = len(applying)
        for node in applying:
            for name, schema in node.properties.items():
                self._member(name, schema)
            if node.items is not None:
                self.items.append((len(node.schema.get("prefixItems", ())), node.items))
        self.after = max((start for start, _ in self.items), default=0)

    def _member(self, name: str, schema: Node) -> None:
        known = self.members.get(name, ())
        self.members[name] = (*known, schema)
        self.work += 1 + len(known)
        if name not in self.defaults:
            applying = _applying([schema])
            self.work += len(applying)
            first = next((node for node in applying if has_default(node)), None)
            if first is not None:
                self.defaults[name] = first

    def of_item(self, index: int) -> tuple[Node, ...]:
        return tuple(node for start, node in self.items if start <= index)


class _Filling:
    """One value's.  left: bytes that may be added yet.

    Schemas that apply together are looked at once, and not more of them than `_MOST_WORK` allows.
    """

    def __init__(self, sizes: dict[int, int], left: int) -> None:
        self._sizes = sizes
        self._left = left
        self._plans: dict[tuple[int, ...], _Plan] = {}
        self._work = 0

    def value(self, value: Any, nodes: tuple[Node, ...]) -> Any:
        """nodes: the schemas that apply to the value."""
        if not nodes or not isinstance(value, dict | list):
            return value
        plan = self._plan(nodes)
        return self._object(value, plan) if isinstance(value, dict) else self._array(value, plan)

    def _plan(self, nodes: tuple[Node, ...]) -> _Plan:
        self._count(len(nodes) - 1)
        key = tuple(map(id, nodes))
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = _Plan(nodes)
            self._count(plan.work)
        return plan

    def _count(self, work: int) -> None:
        self._work += work
        if self._work > _MOST_WORK:
            raise DefaultsTooLarge("the defaults take too long to fill in")

    def _object(self, value: dict[str, Any], plan: _Plan) -> dict[str, Any]:
        members = plan.members
        result = {name: self.value(one, members.get(name, ())) for name, one in value.items()}
        for name, node in plan.defaults.items():
            if name not in result:
                self._left -= self._sizes[id(node)] + len(name) + 3
                if self._left < 0:
                    raise DefaultsTooLarge("the defaults are larger than inputs may be")
                result[name] = _copy(node.schema["default"])
        return result

    def _array(self, value: list[Any], plan: _Plan) -> list[Any]:
        rest = plan.of_item(plan.after)
        result = []
        for index, item in enumerate(value):
            nodes = rest
            if index < plan.after:
                self._count(len(plan.items))
                nodes = plan.of_item(index)
            result.append(self.value(item, nodes))
        return result


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(member) for name, member in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value
