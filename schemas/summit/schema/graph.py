"""A JSON Schema as a graph: which subschemas apply where, and what its references lead to.

Source: JSON Schema 2020-12, Core, 8 to 11.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from schemas.json_schema.counted import newest_resolver
from schemas.json_schema.patterns import NotLinear, PatternBudget, PatternsTooLarge
from schemas.rules import Rule
from schemas.summit import rules, words
from schemas.summit.checker import Place

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
_BROKEN = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What the library raises of ids and references that nobody would write."""


@dataclass(eq=False)
class Node:
    """A subschema.

    place: where it stands.  resolver: of references in it.  in_place: what applies to the same
    value.  children: what applies to members and items, with the member's name, `*` for several.
    """

    schema: Any
    place: Place
    resolver: Any = field(repr=False)
    in_place: list[Node] = field(default_factory=list)
    children: list[tuple[str, Node]] = field(default_factory=list)
    properties: dict[str, Node] = field(default_factory=dict)
    items: Node | None = None
    ref: Node | None = None
    all_of: list[Node] = field(default_factory=list)


@dataclass
class Graph:
    """dynamic: a reference depends on the way that led to it.  faults: rule, place, what.

    patterns_too_large: not all patterns have been looked at.
    """

    root: Node
    nodes: list[Node] = field(default_factory=list)
    dynamic: bool = False
    patterns_too_large: bool = False
    faults: list[tuple[Rule, Place, str]] = field(default_factory=list)


def graph_of(schema: dict[str, Any], budget: PatternBudget | None = None) -> Graph:
    """Make the graph of a schema that its metaschema lets pass.

    budget: of the patterns of its document.

    It is taken over: no dict of it may stand in two places, and `$schema` is taken out, since
    validators would go on with another set of keywords there.
    """
    return _Builder(schema, budget or PatternBudget()).graph


class _Builder:
    def __init__(self, schema: dict[str, Any], budget: PatternBudget) -> None:
        self._budget = budget
        self._places = {id(part): place for part, place in _parts(schema, ())}
        self._known: dict[int, Node] = {}
        self._waiting: list[Node] = []
        self.graph = Graph(Node(schema, (), newest_resolver(schema)))
        self._add(self.graph.root)
        while self._waiting:
            self._look_at(self._waiting.pop())
        if not self.graph.faults:
            self._find_circle()

    def _add(self, node: Node) -> None:
        self._known[id(node.schema)] = node
        self.graph.nodes.append(node)
        if isinstance(node.schema, dict):
            self._waiting.append(node)

    def _fault(self, rule: Rule, place: Place, what: str) -> None:
        self.graph.faults.append((rule, place, what))

    def _node(self, schema: Any, place: Place, resolver: Any, *, inside: bool) -> Node:
        """inside: the schema stands in the one that the resolver is for."""
        if isinstance(schema, dict) and id(schema) in self._known:
            return self._known[id(schema)]
        if inside and isinstance(schema, dict):
            try:
                resolver = resolver.in_subresource(DRAFT202012.create_resource(schema))
            except _BROKEN:
                self._fault(rules.MANIFEST_SCHEMA_REF, (*place, "$id"), "is no base for references")
        node = Node(schema, place, resolver)
        self._add(node)
        return node

    def _look_at(self, node: Node) -> None:
        schema, place, resolver = node.schema, node.place, node.resolver
        if schema.pop("$schema", words.DIALECT) != words.DIALECT:
            what = f"must be {words.DIALECT}"
            self._fault(rules.MANIFEST_SCHEMA_DIALECT, (*place, "$schema"), what)
        for keyword, inner, at in _subschemas(schema, place):
            child = self._node(inner, at, resolver, inside=True)
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
        self._patterns(schema, place)
        self._references(node)

    def _patterns(self, schema: dict[str, Any], place: Place) -> None:
        told = [("pattern",)] if isinstance(schema.get("pattern"), str) else []
        named: list[Place] = [
            ("patternProperties", name) for name in schema.get("patternProperties", ())
        ]
        for at in [*told, *named]:
            pattern = schema["pattern"] if at == ("pattern",) else str(at[-1])
            if self.graph.patterns_too_large:
                return
            try:
                self._budget.check(pattern)
            except PatternsTooLarge:
                self.graph.patterns_too_large = True
                what = "is beyond the number or the size of patterns that are allowed"
                self._fault(rules.MANIFEST_SCHEMA_PATTERN, (*place, *at), what)
            except NotLinear:
                what = "must be a pattern that a linear-time engine takes"
                self._fault(rules.MANIFEST_SCHEMA_PATTERN, (*place, *at), what)

    def _references(self, node: Node) -> None:
        for keyword in ("$ref", "$dynamicRef"):
            if keyword not in node.schema:
                continue
            reference, at = node.schema[keyword], (*node.place, keyword)
            self.graph.dynamic |= keyword == "$dynamicRef"
            if not reference.startswith("#"):
                self._fault(rules.MANIFEST_SCHEMA_REF, at, "must begin with #")
                continue
            try:
                found = node.resolver.lookup(reference)
            except (Unresolvable, *_BROKEN):
                self._fault(rules.MANIFEST_SCHEMA_REF, at, "leads nowhere")
                continue
            if not isinstance(found.contents, (dict, bool)):
                self._fault(rules.MANIFEST_SCHEMA_REF, at, "leads to what is no schema")
                continue
            place = self._places.get(id(found.contents), at)
            target = self._node(found.contents, place, found.resolver, inside=False)
            node.in_place.append(target)
            if keyword == "$ref":
                node.ref = target

    def _find_circle(self) -> None:
        """A reference that leads back to the same value has no end."""
        done: set[int] = set()
        for start in self.graph.nodes:
            path: dict[int, Iterator[Node]] = {}
            if id(start) in done:
                continue
            path[id(start)] = iter(start.in_place)
            while path:
                top, rest = next(reversed(path.items()))
                following = next(rest, None)
                if following is None:
                    done.add(top)
                    del path[top]
                elif id(following) in path:
                    what = "has a reference that leads back to itself"
                    self._fault(rules.MANIFEST_SCHEMA_REF, following.place, what)
                    return
                elif id(following) not in done:
                    path[id(following)] = iter(following.in_place)


def _subschemas(schema: dict[str, Any], place: Place) -> Iterator[tuple[str, Any, Place]]:
    for keyword in (*_IN_PLACE_ONE, *_CHILD_ONE):
        if keyword in schema:
            yield keyword, schema[keyword], (*place, keyword)
    for keyword in (*_IN_PLACE_LIST, "prefixItems"):
        for i, inner in enumerate(schema.get(keyword, ())):
            yield keyword, inner, (*place, keyword, i)
    for keyword in ("properties", "patternProperties", "dependentSchemas", *_NOT_APPLIED_MAP):
        for name, inner in schema.get(keyword, {}).items():
            yield keyword, inner, (*place, keyword, name)


NOTHING: dict[str, Any] = {"enum": []}
"""A schema that is never kept."""


def without_false(schema: Any) -> Any:
    """A copy with NOTHING for each `false`, of which a validator does not tell where it stood."""
    if schema is False:
        return NOTHING
    if not isinstance(schema, dict):
        return schema
    result = {name: copy(member) for name, member in schema.items()}
    for _, inner, place in _subschemas(schema, ()):
        *owners, last = place
        owner: Any = result
        for step in owners:
            owner = owner[step]
        owner[last] = without_false(inner)
    return result


def _parts(value: Any, place: Place) -> Iterator[tuple[Any, Place]]:
    """Every dict in a JSON value, with its place."""
    if isinstance(value, dict):
        yield value, place
        for name, member in value.items():
            yield from _parts(member, (*place, name))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _parts(item, (*place, i))
