"""Keywords of JSON Schema as the contract evaluator needs them.

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

from schemas.canonical import canonical_json
from schemas.decimals import dec
from schemas.json_schema.evaluated import evaluated_members
from schemas.json_schema.patterns import compiled

Path = tuple[str | int, ...]
Keyword = Callable[[Any, Any, Any, Any], Any]

MOST_STEPS = 200_000
"""Keywords, and members that they list, that are looked at before a schema is given up."""
_TEXT = 1024
"""Characters that a pattern looks at in the time of a step."""

_left: ContextVar[list[int]] = ContextVar("steps left")


class NotTaken(Exception):
    """The schema cannot be checked with; the text says why, `path` where, if it is one place."""

    def __init__(self, reason: str, path: Path | None = None) -> None:
        super().__init__(reason)
        self.path = path


@contextmanager
def counting() -> Iterator[None]:
    """Gives a validation its steps."""
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
    known = evaluated_members(validator, instance, schema, _spend)
    for name, value in instance.items():
        if name not in known:
            yield from validator.descend(value, subschema, path=name, schema_path=name)


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
