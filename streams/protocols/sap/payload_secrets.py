"""The search for secrets in the payload of a task: its texts and names, by the shapes of tokens.

The log keeps what it takes in, so a secret must not come onto it.  Only its place and kind are
named, never its text; for a secret in a name, the place is that of the object with the name.

Source: SAP guide, 5.2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from schemas import Problem
from schemas.problems import pointer
from schemas.sap.rules import PAYLOAD_SECRET
from streams.masking.shapes import SHIPPED, Shapes, secret_kind

Json = dict[str, Any]
_Path = tuple[str | int, ...]


class FoundSecret(NamedTuple):
    """A secret in a task.  path: a JSON Pointer.  kind: the masking rule that finds it."""

    path: str
    kind: str


def find_secret(task: Json, shapes: Shapes = SHIPPED) -> FoundSecret | None:
    """Return the first secret in the payload of a valid task.  shapes: the policy's rules."""
    return _find(task["payload"], ("payload",), partial(secret_kind, shapes=shapes))


def _find(value: Any, path: _Path, kind_of: Callable[[str], str | None]) -> FoundSecret | None:
    match value:
        case str():
            kind = kind_of(value)
            return None if kind is None else FoundSecret(pointer(*path), kind)
        case dict():
            kind = next(filter(None, map(kind_of, value)), None)
            if kind is not None:
                return FoundSecret(pointer(*path), kind)
            secrets = (_find(item, (*path, name), kind_of) for name, item in value.items())
        case list():
            secrets = (_find(item, (*path, index), kind_of) for index, item in enumerate(value))
        case _:
            return None
    return next(filter(None, secrets), None)


def secret_problem(task: Json, shapes: Shapes = SHIPPED) -> Problem | None:
    """Return the problem of a valid task whose payload has a secret."""
    secret = find_secret(task, shapes)
    if secret is None:
        return None
    message = f"holds what looks like a secret ({secret.kind}); attachments can refer to one."
    return Problem(PAYLOAD_SECRET.code, secret.path, message)
