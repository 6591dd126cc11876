"""Inputs that are a first byte, which picks something, and a JSON text."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

from schemas import ShapeError, parse_ijson

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**53, 2**63, -(2**63) - 1, 2**64, 10**30, 0.1, -0.0, 1e308,
    1e-320, "", " ", "\x00", "a" * 70, "a/b%c", "\U0001f600", "é", "é", "null", "0", "1e3",
    "2026-01-01T00:00:00Z", "2026-13-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z",
    "0000-01-01T00:00:00+23:59", "00000000-0000-4000-8000-000000000000", "urn:asap:agent:x:y:z",
    "🏴" * 40, [], {}, [[]], [None], {"": None}, {"a": {"a": {"a": []}}}, ["a", "a"], "-0.00",
    "$ref", "(a+)+$", "1" * 400,
)  # fmt: skip


def mutated(data: bytes, dice: random.Random) -> bytes | None:
    """With one to three values, members or items changed; None for what is no JSON, or too deep to
    be changed.
    """
    try:
        value = parse_ijson(data[1:], surrogates=True)
        for _ in range(dice.randrange(1, 4)):
            value = _changed(value, dice)
        text = json.dumps(value, ensure_ascii=dice.random() < 0.5)
        return data[:1] + text.encode("utf-8")
    except (ShapeError, ValueError, RecursionError):
        return None


def _changed(root: Any, dice: random.Random) -> Any:
    places = list(_places(root))
    if not places or dice.random() < 0.02:
        return copy.deepcopy(dice.choice(ODD))
    holder, at = dice.choice(places)
    match dice.randrange(6):
        case 0:
            del holder[at]
        case 1 if isinstance(holder, list):
            holder.append(copy.deepcopy(holder[at]))
        case 1:
            holder[f"{at}x"] = copy.deepcopy(holder[at])
        case 2:
            other, place = dice.choice(places)
            holder[at] = copy.deepcopy(other[place])
        case _:
            holder[at] = copy.deepcopy(dice.choice(ODD))
    return root


def _places(value: Any) -> Any:
    """(container, index or name) of every value inside."""
    if isinstance(value, dict):
        members: Any = list(value.items())
    elif isinstance(value, list):
        members = list(enumerate(value))
    else:
        return
    for at, inner in members:
        yield value, at
        yield from _places(inner)
