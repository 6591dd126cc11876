"""JSON Schema keywords that take bounded time, on top of `jsonschema`.

Every keyword is counted, so that a schema that takes too long is abandoned; those with patterns
use the linear-time engine; `uniqueItems` compares canonical forms instead of all pairs;
`multipleOf` divides decimals as they are written, so that 19.99 is a multiple of 0.01.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import Any

from jsonschema import validators
from jsonschema.exceptions import ValidationError
from referencing.jsonschema import lookup_recursive_ref

from schemas.canonical import canonical_json
from schemas.decimals import dec
from schemas.json_schema.errors import NotTaken
from schemas.json_schema.patterns import compiled

Keyword = Callable[[Any, Any, Any, Any], Any]

MOST_STEPS = 200_000
"""Keywords, and members that they list, that are counted before a schema is abandoned."""
_COMBINATORS = ("allOf", "anyOf", "oneOf")
_CHARS_PER_STEP = 1024
"""Characters that a pattern matches in the time of a step."""


_steps_left: ContextVar[list[int]] = ContextVar("steps left")


@contextmanager
def counting() -> Iterator[None]:
    """Limit the validation in the `with` block to MOST_STEPS steps."""
    token = _steps_left.set([MOST_STEPS])
    try:
        yield
    finally:
        _steps_left.reset(token)


def _spend(steps: int) -> None:
    left = _steps_left.get()
    left[0] -= steps
    if left[0] < 0:
        raise NotTaken(f"the schema takes more than {MOST_STEPS} steps")


def _size(value: Any) -> int:
    return len(value) if isinstance(value, list | dict) else 0


def _with_step_count(keyword: Keyword) -> Keyword:
    def run(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        _spend(1 + _size(value))
        return keyword(validator, value, instance, schema)

    return run


def _pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not isinstance(instance, str):
        return
    _spend(len(instance) // _CHARS_PER_STEP)
    if not compiled(pattern).search(instance):
        yield ValidationError("pattern")


def _pattern_properties(
    validator: Any, patterns: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    for pattern, subschema in patterns.items():
        _spend(len(instance))
        searched = compiled(pattern)
        for name, value in instance.items():
            if searched.search(name):
                yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any, subschema: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    patterns = [compiled(pattern) for pattern in schema.get("patternProperties", {})]
    _spend(len(instance) * (1 + len(patterns)))
    known = schema.get("properties", {})
    for name, value in instance.items():
        if name not in known and not any(pattern.search(name) for pattern in patterns):
            yield from validator.descend(value, subschema, path=name)


def _unevaluated_properties(
    validator: Any, subschema: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    known = _evaluated_members(validator, instance, schema)
    for name, value in instance.items():
        if name not in known:
            yield from validator.descend(value, subschema, path=name, schema_path=name)


def _evaluated_members(validator: Any, instance: Any, schema: Any) -> set[str]:
    """Return the members of an object that other keywords evaluate (2020-12, Core, 11.3)."""
    if not isinstance(schema, dict):
        return set()
    _spend(1 + len(instance))
    names: set[str] = set()
    for referred in _referenced_validators(validator, schema):
        names |= _evaluated_members(referred, instance, referred.schema)
    names |= instance.keys() & schema.get("properties", {}).keys()
    for pattern in schema.get("patternProperties", {}):
        _spend(len(instance))
        searched = compiled(pattern)
        names |= {name for name in instance if searched.search(name)}
    for keyword in ("additionalProperties", "unevaluatedProperties"):
        if keyword in schema:
            inner = schema[keyword]
            names |= {n for n, v in instance.items() if _is_valid(validator, v, inner)}
    for subschema in _satisfied_subschemas(validator, instance, schema):
        within = validator.evolve(schema=subschema)
        names |= _evaluated_members(within, instance, subschema)
    return names


def _referenced_validators(validator: Any, schema: Any) -> Iterator[Any]:
    resolver = validator._resolver
    resolved = [resolver.lookup(schema[key]) for key in ("$ref", "$dynamicRef") if key in schema]
    if "$recursiveRef" in schema:
        resolved.append(lookup_recursive_ref(resolver))
    for one in resolved:
        yield validator.evolve(schema=one.contents, _resolver=one.resolver)


def _satisfied_subschemas(validator: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """Yield the subschemas that apply to the object itself and that it satisfies."""
    for name, subschema in schema.get("dependentSchemas", {}).items():
        if name in instance:
            yield subschema
    for keyword in _COMBINATORS:
        for subschema in schema.get(keyword, ()):
            if _is_valid(validator, instance, subschema):
                yield subschema
    if "if" in schema:
        holds = _is_valid(validator, instance, schema["if"])
        if holds:
            yield schema["if"]
        branch = "then" if holds else "else"
        if branch in schema:
            yield schema[branch]


def _is_valid(validator: Any, value: Any, subschema: Any) -> bool:
    return next(validator.descend(value, subschema), None) is None


def _unique_items(
    validator: Any, unique: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if unique and isinstance(instance, list):
        _spend(len(instance))
        if len({canonical_json(item) for item in instance}) < len(instance):
            yield ValidationError("uniqueItems")


def _multiple_of(
    validator: Any, divisor: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "number"):
        return
    if (Fraction(dec(instance)) / Fraction(dec(divisor))).denominator != 1:
        yield ValidationError("multipleOf")


_KEYWORDS: Mapping[str, Keyword] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "unevaluatedProperties": _unevaluated_properties,
    "uniqueItems": _unique_items,
    "multipleOf": _multiple_of,
}


def with_own_keywords(stock: Any) -> Any:
    """Return a validator class like a stock one, with counted keywords and those above."""
    overrides = {name: keyword for name, keyword in _KEYWORDS.items() if name in stock.VALIDATORS}
    keywords = {**stock.VALIDATORS, **overrides}
    extend: Any = validators.extend
    return extend(stock, {name: _with_step_count(keyword) for name, keyword in keywords.items()})


class QuietObject(dict[str, Any]):
    def __repr__(self) -> str:
        return "an object"


class QuietArray(list[Any]):
    def __repr__(self) -> str:
        return "an array"


class QuietText(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "a text"


def quiet(value: Any) -> Any:
    """Return the same value with a `repr` that does not show it.  Raises RecursionError.

    `jsonschema` writes the value that violates a schema into each message, and a schema of many
    branches makes many messages.  These values write a short phrase instead.
    """
    if isinstance(value, dict):
        return QuietObject((QuietText(name), quiet(member)) for name, member in value.items())
    if isinstance(value, list):
        return QuietArray(map(quiet, value))
    return QuietText(value) if isinstance(value, str) else value
