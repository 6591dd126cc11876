"""What keeps a JSON value from being a schema of a manifest (spec 2.6)."""

from __future__ import annotations

from typing import Any

from schemas.canonical import canonical_json, parse_ijson
from schemas.json_schema.counted import BROKEN, newest_validator
from schemas.json_schema.keywords import NotTaken, counting
from schemas.json_schema.patterns import PatternBudget
from schemas.json_schema.quiet import quiet
from schemas.problems import Problem, pointer
from schemas.rules import Rule
from schemas.summit import rules
from schemas.summit.checker import Place
from schemas.summit.schema.cost import MOST_DEPTH, depth_of
from schemas.summit.schema.defaults import reached
from schemas.summit.schema.engine import METASCHEMA, fast_validator
from schemas.summit.schema.graph import Graph, Node, graph_of


def schema_problems(
    schema: dict[str, Any], place: Place, budget: PatternBudget | None = None
) -> list[Problem]:
    """Check a schema, an object of I-JSON, that stands at `place`.

    budget: of the patterns of the manifest.
    """
    schema = parse_ijson(canonical_json(schema))  # no part of it stands in two places
    first = min(
        METASCHEMA.iter_errors(schema), key=lambda e: list(map(str, e.instance_path)), default=None
    )
    if first is not None:
        return [
            _problem(rules.MANIFEST_SCHEMA, (*place, *first.instance_path), "is no JSON Schema")
        ]
    if schema.get("type") != "object":
        what = "must be object, at the root of a schema"
        return [_problem(rules.MANIFEST_SCHEMA, (*place, "type"), what)]
    graph = graph_of(schema, budget)
    found = [_problem(rule, (*place, *at), what) for rule, at, what in graph.faults]
    return found or _compiled(schema, graph, place)


def _compiled(schema: dict[str, Any], graph: Graph, place: Place) -> list[Problem]:
    for target in {id(node.ref): node.ref for node in graph.nodes if node.ref}.values():
        if not METASCHEMA.is_valid(target.schema):
            return [_problem(rules.MANIFEST_SCHEMA, (*place, *target.place), "is no JSON Schema")]
    if depth_of(graph) > MOST_DEPTH:
        return [_problem(rules.MANIFEST_SCHEMA, place, "leads too deep by its references")]
    try:
        fast_validator(schema)
    except ValueError as exc:
        pattern = type(getattr(exc, "kind", None)).__name__ == "Format"
        rule = rules.MANIFEST_SCHEMA_PATTERN if pattern else rules.MANIFEST_SCHEMA
        return [_problem(rule, place, "is not taken by the validator")]
    return [
        _problem(
            rules.MANIFEST_SCHEMA_DEFAULT, (*place, *node.place, "default"), "breaks its schema"
        )
        for node in _broken_defaults(schema, graph)
    ]


def _broken_defaults(schema: dict[str, Any], graph: Graph) -> list[Node]:
    """Subschemas that their own defaults break; also those left when all take too long."""
    nodes = list(reached(graph.root))
    if not nodes:
        return []
    validator = newest_validator(schema)
    with counting():
        return [node for node in nodes if not _holds(validator, node)]


def _holds(validator: Any, node: Node) -> bool:
    """Whether a default keeps the subschema that it stands in."""
    own = validator.evolve(schema=node.schema, _resolver=node.resolver)
    try:
        return next(own.iter_errors(quiet(node.schema["default"])), None) is None
    except (NotTaken, *BROKEN):
        return False


def _problem(rule: Rule, place: Place, what: str) -> Problem:
    return Problem(rule.code, pointer(*place), f"{place[-1]} {what}.")
