"""What keeps a schema from being used; loads no library."""

from __future__ import annotations

JsonPath = tuple[str | int, ...]
"""The steps from the root of a JSON value to a part of it."""


class NotTaken(Exception):
    """The schema cannot be checked with; the text says why, `path` where, if it is one place."""

    def __init__(self, reason: str, path: JsonPath | None = None) -> None:
        super().__init__(reason)
        self.path = path


class DefaultsTooLarge(ValueError):
    """The defaults of a schema are larger than what they are filled into may be."""
