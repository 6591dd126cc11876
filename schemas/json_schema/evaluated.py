"""Which members of an object other keywords have looked at already (`unevaluatedProperties`).

Source: JSON Schema 2020-12, Core, 11.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from referencing.jsonschema import lookup_recursive_ref

from schemas.json_schema.patterns import compiled

Spend = Callable[[int], None]
_ALL_OF = ("allOf", "anyOf", "oneOf")


def evaluated_members(validator: Any, instance: Any, schema: Any, spend: Spend) -> set[str]:
    """spend: counts the work."""
    if not isinstance(schema, dict):
        return set()
    spend(1 + len(instance))
    found: set[str] = set()
    for referred in _referred(validator, schema):
        found |= evaluated_members(referred, instance, referred.schema, spend)
    found |= instance.keys() & schema.get("properties", {}).keys()
    for pattern in schema.get("patternProperties", {}):
        spend(len(instance))
        searched = compiled(pattern)
        found |= {name for name in instance if searched.search(name)}
    for keyword in ("additionalProperties", "unevaluatedProperties"):
        if keyword in schema:
            inner = schema[keyword]
            found |= {n for n, v in instance.items() if _is_valid(validator, v, inner)}
    for subschema in _in_place(validator, instance, schema):
        found |= evaluated_members(_within(validator, subschema), instance, subschema, spend)
    return found


def _referred(validator: Any, schema: Any) -> Iterator[Any]:
    """Validators of the schemas referred to."""
    resolver = validator._resolver
    found = [resolver.lookup(schema[key]) for key in ("$ref", "$dynamicRef") if key in schema]
    if "$recursiveRef" in schema:
        found.append(lookup_recursive_ref(resolver))
    for one in found:
        yield validator.evolve(schema=one.contents, _resolver=one.resolver)


def _in_place(validator: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """The subschemas that apply to the object itself and hold for it."""
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


def _within(validator: Any, subschema: Any) -> Any:
    return validator.evolve(schema=subschema)


def _is_valid(validator: Any, value: Any, subschema: Any) -> bool:
    return next(validator.descend(value, subschema), None) is None
