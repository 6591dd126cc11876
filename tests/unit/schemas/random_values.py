"""Seeded random Avro values of a schema: many thousand a second, where Hypothesis makes dozens."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

Make = Callable[[Random], Any]
TEXTS = ("", "a", "apc/1.0", "Zürich", "日本", "🐟", "x" * 70, "\0", "builder-17", "é" * 64)
DOUBLES = (0.0, -0.0, 1.0, 0.74, -1e-300, 1.7976931348623157e308, float("inf"), float("nan"))
_MOST_ITEMS = 3


def _long(rnd: Random) -> int:
    """Return a number of any size: each length in bits is as likely as another."""
    number = rnd.getrandbits(rnd.randrange(64))
    return -number - 1 if rnd.random() < 0.2 else number


def _double(rnd: Random) -> float:
    return rnd.choice(DOUBLES) if rnd.random() < 0.3 else rnd.random()


PRIMITIVES: dict[str, Make] = {
    "null": lambda rnd: None,
    "boolean": lambda rnd: rnd.random() < 0.5,
    "int": lambda rnd: _long(rnd) >> 32,
    "long": _long,
    "double": _double,
    "string": lambda rnd: rnd.choice(TEXTS),
    "bytes": lambda rnd: rnd.randbytes(rnd.choice([0, 3, 200])),
}


def generator(schema: Any) -> Make:
    """Return a function that makes a value of a self-contained schema."""
    return _make(schema, dict(PRIMITIVES))


def _make(schema: Any, named: dict[str, Make]) -> Make:
    if isinstance(schema, list):
        return _union(schema, named)
    if isinstance(schema, str):
        return named[schema]
    match schema["type"]:
        case "array":
            return _array(_make(schema["items"], named))
        case "map":
            return _map(_make(schema["values"], named))
        case "enum":
            made = _enumeration(schema["symbols"])
        case "record":
            made = _record({f["name"]: _make(f["type"], named) for f in schema["fields"]})
        case primitive:
            return named[primitive]
    named[f"{schema['namespace']}.{schema['name']}"] = made
    return made


def _union(branches: list[Any], named: dict[str, Make]) -> Make:
    makes = [_make(branch, named) for branch in branches]
    if "null" not in branches:  # a record is a pair with its name
        makes = [_branch(b, make) for b, make in zip(branches, makes, strict=True)]
    return lambda rnd: rnd.choice(makes)(rnd)


def _branch(schema: Any, make: Make) -> Make:
    if isinstance(schema, str) and schema in PRIMITIVES:
        return make
    name = schema if isinstance(schema, str) else f"{schema['namespace']}.{schema['name']}"
    return lambda rnd: (name, make(rnd))


def _enumeration(symbols: list[str]) -> Make:
    return lambda rnd: rnd.choice(symbols)


def _array(item: Make) -> Make:
    return lambda rnd: [item(rnd) for _ in range(rnd.randint(0, _MOST_ITEMS))]


def _map(value: Make) -> Make:
    return lambda rnd: {rnd.choice(TEXTS): value(rnd) for _ in range(rnd.randint(0, _MOST_ITEMS))}


def _record(members: dict[str, Make]) -> Make:
    return lambda rnd: {name: make(rnd) for name, make in members.items()}
