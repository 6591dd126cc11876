"""The JSON Schemas in manifests: which are accepted, and the errors of values (Summit guide, 2.6).

Where validation may take long, values go to `jsonschema`, with keywords that count their steps;
else to `jsonschema_rs`, which cannot be interrupted: 1 µs against 140 µs for a schema of ten
keywords.  It also goes as deep as a schema leads, where Python's stack overflows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import jsonschema_rs
import orjson
from jsonschema import Draft202012Validator

from schemas.canonical import canonical_json, parse_ijson
from schemas.json_schema.cache import WeightedCache
from schemas.json_schema.cost import MOST_DEPTH, cost_of, depth_of, values_in
from schemas.json_schema.defaults import Filler, reached
from schemas.json_schema.errors import JsonPath, NotTaken
from schemas.json_schema.graph import (
    NOTHING,
    FaultKind,
    Graph,
    Node,
    graph_of,
    without_false,
)
from schemas.json_schema.keywords import counting, quiet
from schemas.json_schema.patterns import MOST_CACHED, PatternBudget
from schemas.json_schema.validator import BROKEN, newest_validator
from schemas.problems import Problem, pointer
from schemas.rules import Rule
from schemas.summit import rules
from schemas.summit.words import MAX_INPUTS_BYTES, MAX_PATH, MAX_SCHEMA_ERRORS

JsonObject = dict[str, Any]
Error = tuple[JsonPath, str]

MOST_WORK = 3_000_000
"""The most subschemas times values that the fast validator evaluates: 1 s at most."""
MOST_LISTED = 20_000
"""The same limit for listing errors, which takes up to 200 µs for each."""
MOST_ERRORS = 10_000
"""The most errors that are collected where listing takes long; the first of them are returned."""
GIVEN_UP = "$ref"
"""The keyword in the error of a schema that takes too long."""
_RULES = {
    FaultKind.DIALECT: rules.MANIFEST_SCHEMA_DIALECT,
    FaultKind.REFERENCE: rules.MANIFEST_SCHEMA_REF,
    FaultKind.PATTERN: rules.MANIFEST_SCHEMA_PATTERN,
}
_MAPS = ("properties", "patternProperties", "dependentSchemas", "unevaluatedProperties")
_EXTRA_MEMBERS = ("additionalProperties", "unevaluatedProperties")
_SCHEMA_INSTRUCTIONS = 2_000
"""The weight of a schema without patterns, in instructions of patterns."""


def fast_validator(schema: Any) -> Any:
    """Return a validator of `jsonschema_rs`.  Raises ValueError for a schema that it refuses."""
    return jsonschema_rs.Draft202012Validator(
        schema, offline=True, pattern_options=jsonschema_rs.RegexOptions()
    )


_METASCHEMA = fast_validator(Draft202012Validator.META_SCHEMA)


def schema_problems(
    schema: JsonObject, path: JsonPath, budget: PatternBudget | None = None
) -> list[Problem]:
    """Check a schema, an object of I-JSON, at a path in the manifest.

    budget: that of the patterns in the manifest.
    """
    schema = parse_ijson(canonical_json(schema))  # no object may occur in it twice
    errors = _METASCHEMA.iter_errors(schema)
    first = min(errors, key=lambda error: list(map(str, error.instance_path)), default=None)
    if first is not None:
        invalid = (*path, *first.instance_path)
        return [_problem(rules.MANIFEST_SCHEMA, invalid, "is no JSON Schema")]
    if schema.get("type") != "object":
        message = "must be object, at the root of a schema"
        return [_problem(rules.MANIFEST_SCHEMA, (*path, "type"), message)]
    graph = graph_of(schema, budget)
    problems = [_problem(_RULES[kind], (*path, *at), text) for kind, at, text in graph.faults]
    return problems or _graph_problems(schema, graph, path)


def _graph_problems(schema: JsonObject, graph: Graph, path: JsonPath) -> list[Problem]:
    for target in {id(node.ref): node.ref for node in graph.nodes if node.ref}.values():
        if not _METASCHEMA.is_valid(target.schema):
            return [_problem(rules.MANIFEST_SCHEMA, (*path, *target.path), "is no JSON Schema")]
    if depth_of(graph) > MOST_DEPTH:
        return [_problem(rules.MANIFEST_SCHEMA, path, "leads too deep by its references")]
    try:
        fast_validator(schema)
    except ValueError as exc:
        is_pattern = type(getattr(exc, "kind", None)).__name__ == "Format"
        rule = rules.MANIFEST_SCHEMA_PATTERN if is_pattern else rules.MANIFEST_SCHEMA
        return [_problem(rule, path, "is not taken by the validator")]
    return [
        _problem(rules.MANIFEST_SCHEMA_DEFAULT, (*path, *node.path, "default"), "breaks its schema")
        for node in _invalid_defaults(schema, graph)
    ]


def _invalid_defaults(schema: JsonObject, graph: Graph) -> list[Node]:
    """Return the subschemas with invalid defaults, and those left unchecked when steps run out."""
    nodes = list(reached(graph.root))
    if not nodes:
        return []
    validator = newest_validator(schema)
    with counting():
        return [node for node in nodes if not _is_default_valid(validator, node)]


def _is_default_valid(validator: Any, node: Node) -> bool:
    subvalidator = validator.evolve(schema=node.schema, _resolver=node.resolver)
    try:
        return next(subvalidator.iter_errors(quiet(node.schema["default"])), None) is None
    except (NotTaken, *BROKEN):
        return False


def _problem(rule: Rule, path: JsonPath, message: str) -> Problem:
    return Problem(rule.code, pointer(*path), f"{path[-1]} {message}.")


class Schema:
    """A schema of an accepted manifest; it takes over the object."""

    def __init__(self, schema: JsonObject) -> None:
        graph = graph_of(schema)
        self.weight = _SCHEMA_INSTRUCTIONS + graph.instructions
        self._cost = cost_of(graph)
        self._filler = Filler(graph, MAX_INPUTS_BYTES)
        self._fast = None if graph.patterns_too_large else fast_validator(schema)
        self._schema = schema

    def filled(self, value: Any) -> Any:
        """Return the value with defaults filled in, without changing the argument.

        Raises DefaultsTooLarge (a ValueError) if the defaults alone are larger than inputs may be.
        """
        return self._filler.filled(value)

    def errors(self, value: Any, base: str) -> list[JsonObject]:
        """Return the errors of a value as {path, keyword}, sorted by these, at most 10.

        base: the JSON Pointer of the value in its envelope.
        """
        if self._fast is None:
            return _sorted_errors([((), GIVEN_UP)], base)
        work = self._cost * values_in(value)
        if work <= MOST_WORK and self._fast.is_valid(value):
            return []
        if work > MOST_LISTED or _has_empty_name(value):
            return self._counted(value, base)
        errors = self._fast.iter_errors(value)
        return _sorted_errors((e for error in errors for e in _errors_of_fast(error, value)), base)

    def _counted(self, value: Any, base: str) -> list[JsonObject]:
        """Validate with counted steps, and return the first of the errors that are met."""
        errors: list[Error] = []
        try:
            validator = newest_validator(without_false(self._schema))
            with counting():
                each = validator.iter_errors(quiet(value))
                pairs = (pair for error in each for pair in _errors_of(error))
                errors.extend(islice(pairs, MOST_ERRORS))
        except (NotTaken, *BROKEN):
            errors = errors or [((), GIVEN_UP)]
        return _sorted_errors(errors, base)


def _has_empty_name(value: Any) -> bool:
    """Return whether a member may be named "", which the library drops at the end of a path."""
    return b'"":' in orjson.dumps(value)


def _compile(text: str) -> Schema:
    return Schema(parse_ijson(text))


_cache = WeightedCache(_compile, lambda schema: schema.weight, MOST_CACHED)


def schema_of(text: str) -> Schema:
    """Compile the JSON text of a schema in a manifest that was accepted."""
    return _cache.get(text)


def _sorted_errors(errors: Iterable[Error], base: str) -> list[JsonObject]:
    """Sort errors by path, then keyword, each once, at most 10.  base: the path of the value."""
    pairs = {(base + pointer(*path), keyword) for path, keyword in errors}
    return [
        {"path": path[:MAX_PATH], "keyword": keyword}
        for path, keyword in sorted(pairs)[:MAX_SCHEMA_ERRORS]
    ]


def _errors_of(error: Any) -> Iterator[Error]:
    """Yield path and keyword of an error of `jsonschema`, once for each member that it names."""
    path, schema_path = tuple(error.absolute_path), list(error.absolute_schema_path)
    if error.schema == NOTHING:
        schema_path.pop()
    keyword, value = _keyword_at(schema_path), error.instance
    if "propertyNames" in schema_path:
        yield path, "propertyNames"
    elif keyword == "required":
        yield from (((*path, name), keyword) for name in error.validator_value if name not in value)
    elif keyword == "dependentRequired":
        for name, needed in error.validator_value.items():
            if name in value:
                yield from (((*path, one), keyword) for one in needed if one not in value)
    else:
        yield path, keyword


def _errors_of_fast(error: Any, value: Any) -> Iterator[Error]:
    """Yield path and keyword of an error of `jsonschema_rs`, once for each member that it names.

    value: the one that was validated.
    """
    path, kind = tuple(error.instance_path), type(error.kind).__name__
    schema_path = error.evaluation_path
    keyword = _keyword_at(schema_path)
    if kind == "Required":
        yield (*path, error.kind.property), keyword
    elif kind == "PropertyNames":
        yield path, "propertyNames"
    elif keyword in _EXTRA_MEMBERS and schema_path[-1] == keyword:
        unexpected = getattr(error.kind, "unexpected", None)
        if unexpected is None:
            unexpected = _part_at(value, path)  # nothing is expected
        yield from (((*path, name), keyword) for name in unexpected)
    else:
        yield path, keyword


def _keyword_at(schema_path: list[str | int]) -> str:
    """Return the keyword at the end of a path through a schema.

    Where a schema is `false`, the path ends at it, and the keyword is the one it belongs to.
    """
    last = schema_path[-1] if schema_path else "false"
    if len(schema_path) > 1 and (isinstance(last, int) or schema_path[-2] in _MAPS):
        return str(schema_path[-2])
    return str(last)


def _part_at(value: Any, path: JsonPath) -> Any:
    for step in path:
        value = value[step]
    return value
