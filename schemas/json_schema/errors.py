"""Errors of schemas that cannot be used; the module loads no library."""

from __future__ import annotations

JsonPath = tuple[str | int, ...]
"""The steps from the root of a JSON value to a part of it."""


class NotTaken(Exception):
    """An error for a schema that cannot be used for validation.

    The text is the reason; `path` is the place in the schema, None if there is not one alone.
    """

    def __init__(self, reason: str, path: JsonPath | None = None) -> None:
        super().__init__(reason)
        self.path = path


class DefaultsTooLarge(ValueError):
    """An error for defaults that are larger than the value they are filled into may be."""
