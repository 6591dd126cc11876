"""How much of what agents send one row keeps, so that no row outgrows its topic.

Source: SAP spec, 5.5; NAMES and NAME_LENGTH are this service's own.
"""

from __future__ import annotations

from collections.abc import Container, Sized
from typing import Protocol

NOTES = 20
CITATIONS = 50
VALUES = 16
MEMBERS = 32
KEYS = 8
NAMES = 100
"""Names that one map of a row has; further ones are not counted."""
NAME_LENGTH = 256
"""Code points of a name that is counted."""


class Known(Sized, Container[str], Protocol):
    """The names that a map has."""


def room_for(name: str, known: Known) -> bool:
    """Whether a map may count this name: it does already, or has room for it."""
    return name in known or (len(known) < NAMES and len(name) <= NAME_LENGTH)
