"""The members that an edge fills in for a sender: each protocol declares its own."""

from __future__ import annotations

from typing import Any

from streams.api.filling import NewId
from streams.protocols.queries import QUERIES

_FILLINGS = tuple(side.filling for side in QUERIES if side.filling is not None)


def fill_value(topic: str, record_value: Any, new_id: NewId) -> Any:
    """Fill in the members of a record's value that its edge makes, such as an id."""
    for filling in _FILLINGS:
        record_value = filling.value(topic, record_value, new_id)
    return record_value


def fill_body(method: str, path: str, request_body: Any, now_ms: int, new_id: NewId) -> Any:
    """Fill in the members of a request's body that the gateway makes: ids and times.

    now_ms: time of the request; no two requests have the same time.
    """
    for filling in _FILLINGS:
        request_body = filling.body(method, path, request_body, now_ms, new_id)
    return request_body
