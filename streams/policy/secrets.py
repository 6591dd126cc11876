"""The search for secrets in policy files: texts of the shape of a token.

A policy is shown, compared and kept, so no secret may be in it.  Words that only accompany a
secret, such as a key `password`, do not count here: descriptions may speak of them.

Source: policies, 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schemas import Problem
from streams.masking.find import spans_of
from streams.masking.rules import ALL

NO_SHAPE = frozenset({"assignment", "authorization", "basic", "bearer", "high_entropy"})
"""The masking rules that need a name beside the secret, or guess."""
MAX_LEVELS = 8


def secret_kind(text: str, levels: int = MAX_LEVELS) -> str | None:
    """Return the masking rule of the first secret in a text; None if there is none.

    levels: how often a value of a key is searched for keys of its own; what is deeper is a secret.
    """
    for line in text.splitlines():
        for span in spans_of(line, None):
            rule, secret = ALL[span.rule].name, line[span.start : span.end]
            if rule not in NO_SHAPE:
                return rule
            if secret == line:
                continue
            kind = secret_kind(secret, levels - 1) if levels else rule
            if kind is not None:  # a token as value of a key
                return kind
    return None


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
