"""Records of a topic, as far as rows are made of them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from schemas import Undecodable
from schemas.projection import Projection
from streams.engine.records import Record, position
from topology.declarations import Topic

_log = logging.getLogger("streams.views.rows")


def decoded(
    topic: Topic, records: Sequence[Record], wanted: Projection
) -> list[tuple[Record, dict[str, Any]]]:
    """Records with what is wanted of them; one that nobody can read is left out, with a warning."""
    found = []
    values = wanted.many([record.value for record in records])
    for record, value in zip(records, values, strict=True):
        if isinstance(value, Undecodable):
            _log.warning("%s is no %s: %s", position(record), topic.record, value)
        else:
            found.append((record, value))
    return found
