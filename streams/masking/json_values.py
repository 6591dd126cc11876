"""Masking of JSON values, which uses member names too (SAOP guide, 5.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from streams.masking.assigned import ASSIGNMENT, AUTHORIZATION, BASIC, is_basic
from streams.masking.keys import Role, key_of, names_path
from streams.masking.tokens import TOKEN
from streams.masking.values import is_no_secret


class Slot(NamedTuple):
    """A position in the new value that is still to be filled.

    rule: the rule of the secret member name that it is nested under.
    """

    into: Any
    at: Any
    value: Any
    rule: int | None


def _rule_of(name: str, value: Any, above: int | None) -> int | None:
    match key_of(name).role:
        case Role.SECRET | Role.TOKEN:
            return ASSIGNMENT
        case Role.HEADER:
            return AUTHORIZATION
        case Role.DIRECTORY if not (isinstance(value, str) and names_path(value)):
            return ASSIGNMENT
        case Role.BASIC if isinstance(value, str) and is_basic(value):
            return BASIC
        case _:
            return above


def _mask_leaf(
    value: Any, rule: int | None, text: Callable[[str], str], token: Callable[[int, str], str]
) -> Any:
    """Mask a leaf; booleans and numbers under a secret name become text, null is unchanged."""
    if isinstance(value, str):
        if rule is None or is_no_secret(value) or TOKEN.fullmatch(value):
            return text(value)
        return token(rule, value)
    if rule is None or value is None:
        return value
    rendered = str(value).lower() if isinstance(value, bool) else str(value)
    return token(rule, rendered)


def _masked_names(value: dict[str, Any], text: Callable[[str], str]) -> dict[str, str]:
    """Return the masked member names by the old ones; equal ones are numbered."""
    names: dict[str, str] = {}
    used: set[str] = set()
    for name in value:
        new, number = (masked := text(name)), 1
        while new in used:
            new = f"{masked} ({(number := number + 1)})"
        used.add(new)
        names[name] = new
    return names


def mask_value(value: Any, text: Callable[[str], str], token: Callable[[int, str], str]) -> Any:
    """Return a masked copy of the value; without recursion, so that any depth works."""
    root: list[Any] = [None]
    slots = [Slot(root, 0, value, None)]
    while slots:
        into, at, value, rule = slots.pop()
        if isinstance(value, dict):
            names = _masked_names(value, text)
            into[at] = new = dict.fromkeys(names.values())
            slots += (
                Slot(new, names[name], inner, _rule_of(name, inner, rule))
                for name, inner in value.items()
            )
        elif isinstance(value, list):
            into[at] = [None] * len(value)
            slots += (Slot(into[at], n, inner, rule) for n, inner in enumerate(value))
        else:
            into[at] = _mask_leaf(value, rule, text, token)
    return root[0]


def count_leaves(value: Any, counts: Callable[[str], bool]) -> int:
    """Count the string leaves for which `counts` is true."""
    waiting, number = [value], 0
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and counts(value):
            number += 1
    return number
