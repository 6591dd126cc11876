"""The table of what the edges do to each kind of envelope, observed on the committed examples."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from streams.docs.guides.examples import examples_of
from streams.docs.markdown import code, grid
from streams.engine.headers import iso
from streams.processing.ingress import EnvelopeType, check
from streams.protocols.commands import COMMANDS
from streams.settings import Settings

_NOW_MS = 1_767_225_600_000
_UNKNOWN = "a_member_that_no_object_has"


def filled_section(protocol: str) -> str:
    """Return what an edge fills in, drops and masks, by kind of envelope."""
    (side,) = (each for each in COMMANDS if each.name == protocol)
    rows = [
        (code(kind.name), _filled(kind, values), _unknown(kind, values), _masked(kind))
        for kind in side.kinds
        if (values := [value for value in examples_of(protocol).values() if _fits(kind, value)])
    ]
    return grid(("envelope", "filled in when absent", "unknown members", "secrets"), rows)


def _fits(kind: EnvelopeType, value: Any) -> bool:
    return not check(kind, value, _NOW_MS, Settings())[1]


def _filled(kind: EnvelopeType, values: list[Any]) -> str:
    names = dict.fromkeys(name for value in values for name in _filled_in(kind, value))
    return "; ".join(names) or "nothing"


def _filled_in(kind: EnvelopeType, value: Any) -> Iterator[str]:
    for path in _members(value):
        without = copy.deepcopy(value)
        _owner(without, path).pop(path[-1])
        prepared = kind.prepare(copy.deepcopy(without), _NOW_MS).value
        owner = _owner(prepared, path)
        if isinstance(owner, dict) and path[-1] in owner:
            texts = {str(other) for each in _members(without) if (other := _at(without, each))}
            yield f"{code('.'.join(path))}: {_source(owner[path[-1]], texts)}"


def _at(value: Any, path: tuple[str, ...]) -> Any:
    owner = _owner(value, path)
    return owner.get(path[-1]) if isinstance(owner, dict) else None


def _source(value: object, others: Collection[str]) -> str:
    time = iso(_NOW_MS).decode()
    if isinstance(value, str) and value[:19] == time[:19]:
        return "the time of the edge's clock"
    if value in others:
        return "the value of another member"
    return "a new id" if isinstance(value, str) and len(value) >= 26 else code(value)


def _members(value: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the members of an object and of the objects directly in it."""
    for name, member in value.items():
        yield (name,)
        if isinstance(member, dict):
            yield from ((name, inner) for inner in member)


def _owner(value: Any, path: tuple[str, ...]) -> Any:
    for name in path[:-1]:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _unknown(kind: EnvelopeType, values: list[Any]) -> str:
    prepared, problems = check(kind, {**values[0], _UNKNOWN: 1}, _NOW_MS, Settings())
    if problems:
        return f"refused: {code(problems[0].rule)}"
    return "kept" if _UNKNOWN in kind.form(prepared.value) else "dropped"


def _masked(kind: EnvelopeType) -> str:
    return "masked before they are on the log" if kind.mask else "not masked"
