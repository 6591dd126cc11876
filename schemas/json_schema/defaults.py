"""Defaults that are filled into a value before validation (Summit guide, 2.6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from schemas.canonical import canonical_json
from schemas.json_schema.errors import DefaultsTooLarge
from schemas.json_schema.graph import Graph, Node

_MAX_WORK = 2_000_000
"""The most subschemas that are evaluated for one value: about a second."""


class Filler:
    """A filler of the defaults of one schema; it does nothing for a schema without defaults.

    max_bytes: the most canonical JSON that the defaults added to one value may have together.
    """

    def __init__(self, graph: Graph, max_bytes: int) -> None:
        self._root = graph.root
        self._max_bytes = max_bytes
        self._sizes = {
            id(node): len(canonical_json(node.schema["default"])) for node in reached(graph.root)
        }

    def filled(self, value: Any) -> Any:
        """Return a copy with the defaults; the value itself if the schema has none.

        Raises DefaultsTooLarge.
        """
        return (
            _FillState(self._sizes, self._max_bytes).fill(value, (self._root,))
            if self._sizes
            else value
        )


def reached(root: Node) -> Iterator[Node]:
    """Yield the subschemas with a default that filling in can reach."""
    seen: set[int] = set()
    yielded: set[int] = set()
    waiting = [root]
    while waiting:
        for node in _applicable([waiting.pop()]):
            if id(node) in seen:
                continue
            seen.add(id(node))
            for inner in node.properties.values():
                for one in _applicable([inner]):
                    if has_default(one) and id(one) not in yielded:
                        yielded.add(id(one))
                        yield one
                waiting.append(inner)
            if node.items is not None:
                waiting.append(node.items)


def has_default(node: Node) -> bool:
    return isinstance(node.schema, dict) and "default" in node.schema


def _applicable(nodes: Iterable[Node]) -> list[Node]:
    """Return each schema, then the target of its `$ref`, then its `allOf`; each once."""
    by_id: dict[int, Node] = {}
    waiting = list(nodes)[::-1]
    while waiting:
        node = waiting.pop()
        if id(node) not in by_id:
            by_id[id(node)] = node
            waiting += node.all_of[::-1]
            if node.ref is not None:
                waiting.append(node.ref)
    return list(by_id.values())


class _SchemaPlan:
    """The members, defaults and items of all the schemas that apply to one value.

    members: by name, the schemas of that member.  defaults: those of members that may be absent.
    items: schemas of items, and the index from which each applies.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        applying = _applicable(nodes)
        self.members: dict[str, tuple[Node, ...]] = {}
        self.defaults: dict[str, Node] = {}
        self.items: list[tuple[int, Node]] = []
        self.work = len(applying)
        for node in applying:
            for name, schema in node.properties.items():
                self._add_member(name, schema)
            if node.items is not None:
                self.items.append((len(node.schema.get("prefixItems", ())), node.items))
        self.after = max((start for start, _ in self.items), default=0)

    def _add_member(self, name: str, schema: Node) -> None:
        known = self.members.get(name, ())
        self.members[name] = (*known, schema)
        self.work += 1 + len(known)
        if name not in self.defaults:
            applying = _applicable([schema])
            self.work += len(applying)
            first = next((node for node in applying if has_default(node)), None)
            if first is not None:
                self.defaults[name] = first

    def item_schemas(self, index: int) -> tuple[Node, ...]:
        return tuple(node for start, node in self.items if start <= index)


class _FillState:
    """The state of filling in one value.

    bytes_left: bytes that may still be added.

    The plan of schemas that apply together is made once; `_MAX_WORK` limits the work.
    """

    def __init__(self, sizes: dict[int, int], bytes_left: int) -> None:
        self._sizes = sizes
        self._bytes_left = bytes_left
        self._plans: dict[tuple[int, ...], _SchemaPlan] = {}
        self._work = 0

    def fill(self, value: Any, nodes: tuple[Node, ...]) -> Any:
        """Return the value with defaults.

        nodes: the schemas that apply to the value.
        """
        if not nodes or not isinstance(value, dict | list):
            return value
        plan = self._plan_for(nodes)
        return (
            self._fill_object(value, plan)
            if isinstance(value, dict)
            else self._fill_array(value, plan)
        )

    def _plan_for(self, nodes: tuple[Node, ...]) -> _SchemaPlan:
        self._count_work(len(nodes) - 1)
        key = tuple(map(id, nodes))
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = _SchemaPlan(nodes)
            self._count_work(plan.work)
        return plan

    def _count_work(self, work: int) -> None:
        self._work += work
        if self._work > _MAX_WORK:
            raise DefaultsTooLarge("the defaults take too long to fill in")

    def _fill_object(self, value: dict[str, Any], plan: _SchemaPlan) -> dict[str, Any]:
        members = plan.members
        result = {name: self.fill(one, members.get(name, ())) for name, one in value.items()}
        for name, node in plan.defaults.items():
            if name not in result:
                self._bytes_left -= self._sizes[id(node)] + len(name) + 3
                if self._bytes_left < 0:
                    raise DefaultsTooLarge("the defaults are larger than inputs may be")
                result[name] = _copy(node.schema["default"])
        return result

    def _fill_array(self, value: list[Any], plan: _SchemaPlan) -> list[Any]:
        after_prefix = plan.item_schemas(plan.after)
        result = []
        for index, item in enumerate(value):
            nodes = after_prefix
            if index < plan.after:
                self._count_work(len(plan.items))
                nodes = plan.item_schemas(index)
            result.append(self.fill(item, nodes))
        return result


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(member) for name, member in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value
