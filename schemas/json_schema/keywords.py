"""Keywords of JSON Schema in bounded time, on top of `jsonschema`.

Every keyword is counted, so that a schema that takes too long is given up; those with patterns go
through the linear-time engine; `uniqueItems` compares canonical forms in place of each with each;
`multipleOf` divides the decimals that are written, so that 19.99 is a multiple of 0.01.
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
from schemas.decimals import to_decimal
from schemas.json_schema.errors import NotTaken
from schemas.json_schema.patterns import compiled

Keyword = Callable[[Any, Any, Any, Any], Any]

MOST_STEPS = 200_000
"""Keywords, and members that they list, that are looked at before a schema is given up."""
_ALL_OF = ("allOf", "anyOf", "oneOf")
_TEXT = 1024
"""Characters that a pattern looks at in the time of a step."""


_left: ContextVar[list[int]] = ContextVar("steps left")


@contextmanager
def counting() -> Iterator[None]:
    """Give a validation its steps."""
    token = _left.set([MOST_STEPS])
    try:
        yield
    finally:
        _left.reset(token)


def _spend(steps: int) -> None:
    left = _left.get()
    left[0] -= steps
    if left[0] < 0:
        raise NotTaken(f"the schema takes more than {MOST_STEPS} steps")


def _size(value: Any) -> int:
    return len(value) if isinstance(value, list | dict) else 0


def _counted(keyword: Keyword) -> Keyword:
    def run(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        _spend(1 + _size(value))
        return keyword(validator, value, instance, schema)

    return run


def _pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not isinstance(instance, str):
        return
    _spend(len(instance) // _TEXT)
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
    """Return the members of an object that other keywords look at (2020-12, Core, 11.3)."""
    if not isinstance(schema, dict):
        return set()
    _spend(1 + len(instance))
    names: set[str] = set()
    for referred in _referred(validator, schema):
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
    for subschema in _in_place(validator, instance, schema):
        within = validator.evolve(schema=subschema)
        names |= _evaluated_members(within, instance, subschema)
    return names


def _referred(validator: Any, schema: Any) -> Iterator[Any]:
    """Yield validators of the schemas referred to."""
    resolver = validator._resolver
    resolved = [resolver.lookup(schema[key]) for key in ("$ref", "$dynamicRef") if key in schema]
    if "$recursiveRef" in schema:
        resolved.append(lookup_recursive_ref(resolver))
    for one in resolved:
        yield validator.evolve(schema=one.contents, _resolver=one.resolver)


def _in_place(validator: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """Yield the subschemas that apply to the object itself and hold for it."""
    for name, subschema in schema.get("dependentSchemas", {}).items():
        if name in instance:
            yield subschema
    for keyword in _ALL_OF:
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
    if (Fraction(to_decimal(instance)) / Fraction(to_decimal(divisor))).denominator != 1:
        yield ValidationError("multipleOf")


_OWN: Mapping[str, Keyword] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "unevaluatedProperties": _unevaluated_properties,
    "uniqueItems": _unique_items,
    "multipleOf": _multiple_of,
}


def with_own_keywords(stock: Any) -> Any:
    """A validator class like a stock one, with counted keywords and those above."""
    own = {name: keyword for name, keyword in _OWN.items() if name in stock.VALIDATORS}
    keywords = {**stock.VALIDATORS, **own}
    extend: Any = validators.extend
    return extend(stock, {name: _counted(keyword) for name, keyword in keywords.items()})


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
    """Return the same value, which does not spell itself out.  Raises RecursionError.

    `jsonschema` writes the value that breaks a schema into each message, and a schema of many
    branches makes many.  These values write a word instead, which costs and tells nothing.
    """
    if isinstance(value, dict):
        return QuietObject((QuietText(name), quiet(member)) for name, member in value.items())
    if isinstance(value, list):
        return QuietArray(map(quiet, value))
    return QuietText(value) if isinstance(value, str) else value
