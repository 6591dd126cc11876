"""Decoding of the members that the views need."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from schemas import Undecodable
from schemas.projection import Projection
from streams.engine.records import Record, position
from topology.declarations import Topic

_log = logging.getLogger("streams.views.rows")


def decode_members(
    topic: Topic, records: Sequence[Record], projection: Projection
) -> list[tuple[Record, dict[str, Any]]]:
    """Decode the projected members of records; skip an unreadable record with a warning."""
    rows = []
    values = projection.many([record.value for record in records])
    for record, value in zip(records, values, strict=True):
        if isinstance(value, Undecodable):
            _log.warning("%s is no %s: %s", position(record), topic.record, value)
        else:
            rows.append((record, value))
    return rows
