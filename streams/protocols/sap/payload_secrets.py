"""The search for secrets in the payload of a task: its texts and names, by the shapes of tokens.

The log keeps what it takes in, so a secret must not come onto it.  Only its place and kind are
named, never its text; for a secret in a name, the place is that of the object with the name.

Source: SAP guide, 5.2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas import Problem
from schemas.problems import pointer
from schemas.sap.rules import PAYLOAD_SECRET
from streams.masking.shapes import secret_kind

Json = dict[str, Any]
_Path = tuple[str | int, ...]


class FoundSecret(NamedTuple):
    """A secret in a task.  path: a JSON Pointer.  kind: the masking rule that finds it."""

    path: str
    kind: str


def find_secret(task: Json) -> FoundSecret | None:
    """Return the first secret in the payload of a valid task."""
    return _find(task["payload"], ("payload",))


def _find(value: Any, path: _Path) -> FoundSecret | None:
    match value:
        case str():
            kind = secret_kind(value)
            return None if kind is None else FoundSecret(pointer(*path), kind)
        case dict():
            kind = next(filter(None, map(secret_kind, value)), None)
            if kind is not None:
                return FoundSecret(pointer(*path), kind)
            secrets = (_find(item, (*path, name)) for name, item in value.items())
        case list():
            secrets = (_find(item, (*path, index)) for index, item in enumerate(value))
        case _:
            return None
    return next(filter(None, secrets), None)


def secret_problem(task: Json) -> Problem | None:
    """Return the problem of a valid task whose payload has a secret."""
    secret = find_secret(task)
    if secret is None:
        return None
    message = f"holds what looks like a secret ({secret.kind}); attachments can refer to one."
    return Problem(PAYLOAD_SECRET.code, secret.path, message)
