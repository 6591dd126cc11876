"""The kinds of envelope that can be validated by name, `<protocol>.<kind of envelope>`."""

from __future__ import annotations

from schemas.problems import Problem
from schemas.protocols import SPECS
from schemas.spec import Validate

KINDS: dict[str, Validate] = {
    kind: validate for spec in SPECS for kind, validate in spec.kinds.items()
}
"""The kinds of envelope by name, each with its validation."""


def validate(kind: str, value: object) -> list[Problem]:
    """Return the problems of a JSON value of this kind; empty for a valid one.

    Raises KeyError for a kind that is not in `KINDS`.
    """
    return KINDS[kind](value)
