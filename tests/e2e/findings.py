"""Sentences about what differs from what should be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def repeated(what: str, idents: Iterable[Any]) -> Iterator[str]:
    yield from (f"{what} {i} is there {n} times" for i, n in Counter(idents).items() if n > 1)


def differences(what: str, found: Mapping[Any, Any], wanted: Mapping[Any, Any]) -> Iterator[str]:
    yield from (f"{what} {key} is missing" for key in wanted.keys() - found.keys())
    yield from (f"{what} {key} has no facts" for key in found.keys() - wanted.keys())
    for key in found.keys() & wanted.keys():
        if found[key] != wanted[key]:
            yield f"{what} {key} differs: {_first_difference(found[key], wanted[key])}"


def _first_difference(found: Any, wanted: Any) -> str:
    if isinstance(found, dict) and isinstance(wanted, dict):
        for name in sorted({*found, *wanted}):
            if found.get(name) != wanted.get(name):
                return f"{name} is {found.get(name)!r}, not {wanted.get(name)!r}"
    return f"{found!r}, not {wanted!r}"
