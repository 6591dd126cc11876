"""The graph of a JSON Schema: which subschemas apply where, and where its references lead.

It finds what cannot be used in a schema before any value is validated.

Source: JSON Schema 2020-12, Core, 8 to 11.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from schemas.json_schema.errors import JsonPath
from schemas.json_schema.patterns import NotLinear, PatternBudget, PatternsTooLarge
from schemas.json_schema.validator import BROKEN, NEWEST, newest_resolver, parts_of

_IN_PLACE_ONE = ("not", "if", "then", "else")
_IN_PLACE_LIST = ("allOf", "anyOf", "oneOf")
_CHILD_ONE = (
    "items",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contains",
    "propertyNames",
)
_NOT_APPLIED_MAP = ("$defs", "definitions")


class FaultKind(StrEnum):
    DIALECT = "dialect"
    REFERENCE = "reference"
    PATTERN = "pattern"


class Fault(NamedTuple):
    kind: FaultKind
    path: JsonPath
    message: str


@dataclass(eq=False)
class Node:
    """A subschema.

    resolver: resolves the references in it.  in_place: subschemas that apply to the same value.
    children: subschemas that apply to members and items, with the member's name, or `*` for
    several.
    """

    schema: Any
    path: JsonPath
    resolver: Any = field(repr=False)
    in_place: list[Node] = field(default_factory=list)
    children: list[tuple[str, Node]] = field(default_factory=list)
    properties: dict[str, Node] = field(default_factory=dict)
    items: Node | None = None
    ref: Node | None = None
    all_of: list[Node] = field(default_factory=list)


@dataclass
class Graph:
    """The subschemas of a schema and what is wrong with them.

    dynamic: the schema has a `$dynamicRef`, whose target depends on how it was reached.
    instructions: the size of the compiled patterns.  patterns_too_large: not all patterns were
    checked.
    """

    root: Node
    nodes: list[Node] = field(default_factory=list)
    dynamic: bool = False
    instructions: int = 0
    patterns_too_large: bool = False
    faults: list[Fault] = field(default_factory=list)


def graph_of(schema: dict[str, Any], budget: PatternBudget | None = None) -> Graph:
    """Make the graph of a schema that is valid by the metaschema.

    budget: that of the patterns in the document.

    The graph takes over the schema: no dict may occur twice in it.  `$schema` members are
    removed, since validators would switch to another set of keywords there.
    """
    return _GraphBuilder(schema, budget or PatternBudget()).graph


class _GraphBuilder:
    def __init__(self, schema: dict[str, Any], budget: PatternBudget) -> None:
        self._budget = budget
        self._paths = {id(part): path for part, path in parts_of(schema)}
        self._nodes: dict[int, Node] = {}
        self._waiting: list[Node] = []
        self.graph = Graph(Node(schema, (), newest_resolver(schema)))
        self._add(self.graph.root)
        while self._waiting:
            self._visit(self._waiting.pop())
        self.graph.instructions = budget.instructions
        if not self.graph.faults:
            self._find_cycle()

    def _add(self, node: Node) -> None:
        self._nodes[id(node.schema)] = node
        self.graph.nodes.append(node)
        if isinstance(node.schema, dict):
            self._waiting.append(node)

    def _add_fault(self, kind: FaultKind, path: JsonPath, message: str) -> None:
        self.graph.faults.append(Fault(kind, path, message))

    def _node_for(self, schema: Any, path: JsonPath, resolver: Any, *, inside: bool) -> Node:
        """Return the node of a schema, a new one if there is none yet.

        inside: the schema is part of the one that the resolver belongs to.
        """
        if isinstance(schema, dict) and id(schema) in self._nodes:
            return self._nodes[id(schema)]
        if inside and isinstance(schema, dict):
            try:
                resolver = resolver.in_subresource(DRAFT202012.create_resource(schema))
            except BROKEN:
                self._add_fault(FaultKind.REFERENCE, (*path, "$id"), "is no base for references")
        node = Node(schema, path, resolver)
        self._add(node)
        return node

    def _visit(self, node: Node) -> None:
        schema, path, resolver = node.schema, node.path, node.resolver
        if schema.pop("$schema", NEWEST) != NEWEST:
            what = f"must be {NEWEST}"
            self._add_fault(FaultKind.DIALECT, (*path, "$schema"), what)
        for keyword, inner, at in _subschemas(schema, path):
            child = self._node_for(inner, at, resolver, inside=True)
            if (
                keyword in _IN_PLACE_ONE
                or keyword in _IN_PLACE_LIST
                or keyword == "dependentSchemas"
            ):
                node.in_place.append(child)
            elif keyword not in _NOT_APPLIED_MAP:
                node.children.append((str(at[-1]) if keyword == "properties" else "*", child))
            if keyword == "allOf":
                node.all_of.append(child)
            elif keyword == "items":
                node.items = child
            elif keyword == "properties":
                node.properties[str(at[-1])] = child
        self._check_patterns(schema, path)
        self._resolve_references(node)

    def _check_patterns(self, schema: dict[str, Any], path: JsonPath) -> None:
        keywords: list[JsonPath] = [("pattern",)] if isinstance(schema.get("pattern"), str) else []
        names: list[JsonPath] = [
            ("patternProperties", name) for name in schema.get("patternProperties", ())
        ]
        for at in [*keywords, *names]:
            pattern = schema["pattern"] if at == ("pattern",) else str(at[-1])
            if self.graph.patterns_too_large:
                return
            try:
                self._budget.check(pattern)
            except PatternsTooLarge:
                self.graph.patterns_too_large = True
                what = "is beyond the number or the size of patterns that are allowed"
                self._add_fault(FaultKind.PATTERN, (*path, *at), what)
            except NotLinear:
                what = "must be a pattern that a linear-time engine takes"
                self._add_fault(FaultKind.PATTERN, (*path, *at), what)

    def _resolve_references(self, node: Node) -> None:
        for keyword in ("$ref", "$dynamicRef"):
            if keyword not in node.schema:
                continue
            reference, at = node.schema[keyword], (*node.path, keyword)
            self.graph.dynamic |= keyword == "$dynamicRef"
            if not reference.startswith("#"):
                self._add_fault(FaultKind.REFERENCE, at, "must begin with #")
                continue
            try:
                resolved = node.resolver.lookup(reference)
            except (Unresolvable, *BROKEN):
                self._add_fault(FaultKind.REFERENCE, at, "leads nowhere")
                continue
            if not isinstance(resolved.contents, (dict, bool)):
                self._add_fault(FaultKind.REFERENCE, at, "leads to what is no schema")
                continue
            path = self._paths.get(id(resolved.contents), at)
            target = self._node_for(resolved.contents, path, resolved.resolver, inside=False)
            node.in_place.append(target)
            if keyword == "$ref":
                node.ref = target

    def _find_cycle(self) -> None:
        """Report a reference that leads back to the same value, since it would never end."""
        done: set[int] = set()
        for start in self.graph.nodes:
            path: dict[int, Iterator[Node]] = {}
            if id(start) in done:
                continue
            path[id(start)] = iter(start.in_place)
            while path:
                top, remaining = next(reversed(path.items()))
                following = next(remaining, None)
                if following is None:
                    done.add(top)
                    del path[top]
                elif id(following) in path:
                    what = "has a reference that leads back to itself"
                    self._add_fault(FaultKind.REFERENCE, following.path, what)
                    return
                elif id(following) not in done:
                    path[id(following)] = iter(following.in_place)


def _subschemas(schema: dict[str, Any], path: JsonPath) -> Iterator[tuple[str, Any, JsonPath]]:
    for keyword in (*_IN_PLACE_ONE, *_CHILD_ONE):
        if keyword in schema:
            yield keyword, schema[keyword], (*path, keyword)
    for keyword in (*_IN_PLACE_LIST, "prefixItems"):
        for i, inner in enumerate(schema.get(keyword, ())):
            yield keyword, inner, (*path, keyword, i)
    for keyword in ("properties", "patternProperties", "dependentSchemas", *_NOT_APPLIED_MAP):
        for name, inner in schema.get(keyword, {}).items():
            yield keyword, inner, (*path, keyword, name)


NOTHING: dict[str, Any] = {"enum": [], "$comment": "false"}
"""A schema that no value satisfies; the `$comment` tells it from an author's empty `enum`."""


def without_false(schema: Any) -> Any:
    """Return a copy with NOTHING for each `false`, since errors of `false` do not give its path."""
    if schema is False:
        return NOTHING
    if not isinstance(schema, dict):
        return schema
    result = {name: copy(member) for name, member in schema.items()}
    for _, inner, path in _subschemas(schema, ()):
        *owners, last = path
        owner: Any = result
        for step in owners:
            owner = owner[step]
        owner[last] = without_false(inner)
    return result
