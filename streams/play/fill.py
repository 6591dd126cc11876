"""What edges make up for what they are sent: every protocol fills in its own."""

from __future__ import annotations

from typing import Any

from streams.api.filling import NewId
from streams.protocols.queries import QUERIES

_FILLINGS = tuple(side.filling for side in QUERIES if side.filling is not None)


def value(topic: str, given: Any, new_id: NewId) -> Any:
    """A value for a topic, with an id where its edge makes one."""
    for filling in _FILLINGS:
        given = filling.value(topic, given, new_id)
    return given


def body(method: str, path: str, given: Any, now_ms: int, new_id: NewId) -> Any:
    """The body of a request, with the ids and times that the gateway makes.

    now_ms: when the request is made; no two requests are made at one time.
    """
    for filling in _FILLINGS:
        given = filling.body(method, path, given, now_ms, new_id)
    return given
