"""Sentences about what differs from what should be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def repeated(what: str, idents: Iterable[Any]) -> Iterator[str]:
    yield from (f"{what} {i} is there {n} times" for i, n in Counter(idents).items() if n > 1)


def differences(what: str, actual: Mapping[Any, Any], expected: Mapping[Any, Any]) -> Iterator[str]:
    yield from (f"{what} {key} is missing" for key in expected.keys() - actual.keys())
    yield from (f"{what} {key} has no facts" for key in actual.keys() - expected.keys())
    for key in actual.keys() & expected.keys():
        if actual[key] != expected[key]:
            yield f"{what} {key} differs: {_first_difference(actual[key], expected[key])}"


def _first_difference(actual: Any, expected: Any) -> str:
    if isinstance(actual, dict) and isinstance(expected, dict):
        for name in sorted({*actual, *expected}):
            if actual.get(name) != expected.get(name):
                return f"{name} is {actual.get(name)!r}, not {expected.get(name)!r}"
    return f"{actual!r}, not {expected!r}"
