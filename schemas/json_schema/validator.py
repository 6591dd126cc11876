"""Validation against JSON Schemas that users wrote, in bounded time and without the network.

A task brings its own schema, so it may be anything: a descriptor that is no schema, a schema that
refers to others elsewhere, one that never finishes.  NotTaken is raised, with the reason, for a
schema that cannot be used.  Patterns are matched by the linear-time engine.

Source: SAP guide, 3.4 (contract).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from jsonschema import Draft7Validator, Draft201909Validator, Draft202012Validator
from referencing import Registry
from referencing.exceptions import NoSuchAnchor, Unresolvable
from referencing.jsonschema import DRAFT7, DRAFT201909, DRAFT202012

from schemas.canonical import canonical_json, parse_ijson
from schemas.json_schema.errors import JsonPath, NotTaken
from schemas.json_schema.keywords import counting, quiet, with_own_keywords
from schemas.json_schema.patterns import NotLinear, PatternBudget, PatternsTooLarge

LARGEST_BYTES = 65_536
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_EMPTY_REGISTRY: Any = Registry()
BROKEN = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors that libraries raise for odd schemas that are valid by the metaschema."""


class Dialect(NamedTuple):
    """A draft of JSON Schema.

    stock: the validator of `jsonschema`.  validator: the same with the keywords of this package.
    """

    stock: Any
    validator: Any
    specification: Any
    keywords: frozenset[str]


def _described_keywords(resolver: Any, metaschema: Any) -> Iterator[str]:
    """Yield the keywords that a metaschema and its parts describe."""
    yield from metaschema.get("properties", {})
    for part in metaschema.get("allOf", ()):
        resolved = resolver.lookup(part["$ref"])
        yield from _described_keywords(resolved.resolver, resolved.contents)


def _make_dialect(stock: Any, specification: Any) -> Dialect:
    metaschema = stock.META_SCHEMA
    keywords = frozenset(_described_keywords(stock(metaschema)._resolver, metaschema))
    return Dialect(stock, with_own_keywords(stock), specification, keywords)


NEWEST = "https://json-schema.org/draft/2020-12/schema"
_DIALECTS = {
    NEWEST: _make_dialect(Draft202012Validator, DRAFT202012),
    "https://json-schema.org/draft/2019-09/schema": _make_dialect(
        Draft201909Validator, DRAFT201909
    ),
    "https://json-schema.org/draft-07/schema": _make_dialect(Draft7Validator, DRAFT7),
}


def dialect_of(schema_uri: object) -> Dialect | None:
    """Return the dialect that `$schema` names, the newest if absent; None if it is unknown."""
    if schema_uri is None:
        return _DIALECTS[NEWEST]
    if not isinstance(schema_uri, str):
        return None
    uri = schema_uri.removesuffix("#")
    if uri.startswith("http://"):
        uri = "https://" + uri.removeprefix("http://")
    return _DIALECTS.get(uri)


def broken_at(schema: Any, value: Any) -> tuple[str, list[str | int]] | None:
    """Return the keyword that a value violates first and its path; None if the value is valid.

    Raises NotTaken.
    """
    try:
        validator = _compiled_validator(_canonical_text(schema))
        with counting():
            error = next(validator.iter_errors(quiet(value)), None)
    except (NotLinear, NoSuchAnchor, Unresolvable, *BROKEN) as exc:
        raise NotTaken(f"the schema is not taken: {_error_text(exc)}") from exc
    return None if error is None else (str(error.validator or "false"), list(error.absolute_path))


def newest_validator(schema: Any) -> Any:
    """Return the counting validator of draft 2020-12; no part of the schema may name another.

    What it validates must be `quiet`, and it must be used while `counting`.
    """
    dialect = dialect_of(None)
    assert dialect is not None
    schema = quiet(schema)
    validator = dialect.validator(schema, registry=_EMPTY_REGISTRY)
    return validator.evolve(_resolver=newest_resolver(schema))


def newest_resolver(schema: Any) -> Any:
    """Return the resolver of references in a schema of draft 2020-12.

    It indexes the parts that have an `$id` at once; otherwise each reference would search the whole
    schema again.
    """
    root = DRAFT202012.create_resource(schema)
    try:
        uri = root.id() or ""
        return _EMPTY_REGISTRY.with_resource(uri, root).crawl().resolver(base_uri=uri)
    except BROKEN:
        return _EMPTY_REGISTRY.resolver_with_root(root)


def _error_text(exc: Exception) -> str:
    return str(exc) if isinstance(exc, NotLinear) else type(exc).__name__


def _canonical_text(schema: Any) -> bytes:
    text = canonical_json(schema)
    if len(text) > LARGEST_BYTES:
        raise NotTaken(f"the schema has {len(text)} bytes, more than {LARGEST_BYTES}")
    return text


@lru_cache(maxsize=256)
def _compiled_validator(text: bytes) -> Any:
    """Return the validator of a schema; raises the errors that `broken_at` wraps."""
    schema = quiet(parse_ijson(text))
    dialect = dialect_of(schema.get("$schema")) if isinstance(schema, dict) else None
    if dialect is None:
        raise NotTaken("the schema names no draft that is known")
    if not dialect.keywords & schema.keys():
        raise NotTaken("the schema has no keyword of JSON Schema")
    if not dialect.stock(dialect.stock.META_SCHEMA).is_valid(schema):
        raise NotTaken("the schema is not valid itself")
    _check_parts(schema, dialect)
    return dialect.validator(schema, registry=_EMPTY_REGISTRY)


def _check_patterns(schema: Any, part: dict[str, Any], budget: PatternBudget) -> None:
    for pattern in (part.get("pattern"), *part.get("patternProperties", {})):
        if isinstance(pattern, str):
            try:
                budget.check(pattern)
            except PatternsTooLarge as exc:
                path = next((path for inner, path in parts_of(schema) if inner is part), ())
                is_name = pattern != part.get("pattern")
                path = (*path, "patternProperties", pattern) if is_name else (*path, "pattern")
                raise NotTaken(f"the schema is not taken: {exc}", path) from exc


def parts_of(value: Any, path: JsonPath = ()) -> Iterator[tuple[dict[str, Any], JsonPath]]:
    """Yield every dict in a JSON value with its path."""
    if isinstance(value, dict):
        yield value, path
        for name, member in value.items():
            yield from parts_of(member, (*path, name))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from parts_of(item, (*path, i))


def _check_parts(schema: Any, dialect: Dialect) -> None:
    """Refuse references to other documents, mixed drafts, and patterns that the engine refuses."""
    specification = dialect.specification
    schema_uri = schema.pop("$schema", None)  # else `jsonschema` uses its own keywords
    root = specification.create_resource(schema)
    waiting = deque([(_EMPTY_REGISTRY.resolver_with_root(root), schema)])
    seen = {id(schema)}
    budget = PatternBudget()
    while waiting:
        resolver, part = waiting.popleft()
        if not isinstance(part, dict):
            continue
        if "$schema" in part and part.pop("$schema") != schema_uri:
            raise NotTaken("the schema mixes drafts")
        _check_patterns(schema, part, budget)
        inner_schemas = [(resolver, inner) for inner in specification.subresources_of(part)]
        for reference in (part[key] for key in _REFERENCES if isinstance(part.get(key), str)):
            try:
                resolved = resolver.lookup(reference)
            except (NoSuchAnchor, Unresolvable) as exc:
                raise NotTaken("the schema refers to something outside itself") from exc
            inner_schemas.append((resolved.resolver, resolved.contents))
        for base, inner in inner_schemas:
            if id(inner) not in seen and isinstance(inner, dict):
                seen.add(id(inner))
                resource = specification.create_resource(inner)
                waiting.append((base.in_subresource(resource), inner))
