"""What the queries of this protocol share."""

from __future__ import annotations

from typing import Any

from schemas import decode, to_json
from schemas.formats import is_uuid
from topology.declarations import Topic

Json = dict[str, Any]


def json_of(topic: Topic, row: bytes) -> Json:
    assert topic.record is not None
    return to_json(topic.record, decode(row, topic.record).value)


def named(task_id: str) -> str:
    """A task's id as its rows have it; a NACK of an envelope without one is under another key."""
    return task_id.lower() if is_uuid(task_id) else task_id
