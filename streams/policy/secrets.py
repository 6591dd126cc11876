"""The search for secrets in policy files: texts of the shape of a token.

A policy is shown, compared and kept, so no secret may be in it.  Words that only accompany a
secret, such as a key `password`, do not count here: descriptions may speak of them.

Source: policies, 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schemas import Problem
from streams.masking.shapes import secret_kind


def secret_problem(name: str, pointer: str, value: Any) -> Problem | None:
    """Return the problem of a secret in the name of a member, or in its value at any depth.

    name: with the sections above it.  The problem has the kind of the secret, never its text.
    """
    if kind := secret_kind(name):
        return _problem(pointer.rpartition("/")[0], kind, "a name of a member")
    for text in _texts(value):
        if kind := secret_kind(text):
            return _problem(pointer, kind, "a text")
    return None


def _problem(pointer: str, kind: str, what: str) -> Problem:
    return Problem("secret_in_bundle", pointer, f"{what} here looks like a secret ({kind})")


def _texts(value: Any) -> Iterator[str]:
    """Yield every text and name of a value; without recursion, so that any depth works."""
    values = [value]
    while values:
        match values.pop():
            case str() as text:
                yield text
            case dict() as table:
                yield from table
                values.extend(table.values())
            case list() as items:
                values.extend(items)
