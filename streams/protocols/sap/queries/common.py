"""What the queries of this protocol share."""

from __future__ import annotations

from schemas.formats import is_uuid
from streams.views.values import Json, json_of

__all__ = ["Json", "json_of", "named"]


def named(task_id: str) -> str:
    """A task's id as its rows have it; a NACK of an envelope without one is under another key."""
    return task_id.lower() if is_uuid(task_id) else task_id
