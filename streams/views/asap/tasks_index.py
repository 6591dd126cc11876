"""The row of a task, and where lists find it.

All that lists filter by is fixed when a task is created, but for its status.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schemas.projection import Projection
from streams.engine.records import Record
from streams.views.changes import Changes
from streams.views.decoded import decoded
from streams.views.keys import key, text_key
from topology import topics
from topology.declarations import Topic

ROW, ALL, OF, ALIAS = key("asap task"), key("asap all"), key("asap of"), key("asap alias")
STATUS = "status"
FIXED = ("parent_task_id", "conversation_id", "requester", "worker", "skill_id")
"""Filters, the most selective one first."""
_ROWS = Projection(
    topics.ASAP_TASKS.record or "", ("task_id", *FIXED, STATUS, "created_at", "aliases")
)


def apply(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
    changed = [
        (record, row, ROW + text_key(row["task_id"]))
        for record, row in decoded(topic, records, _ROWS)
    ]
    rows.load([own for _, _, own in changed])
    for record, row, own in changed:
        before = rows.read(own)
        rows[own] = record.value
        _index(row, None if before is None else _ROWS.of(before), own, rows)


def _index(row: Any, before: Any, own: bytes, rows: Changes) -> None:
    place = key(row["created_at"]) + text_key(row["task_id"])
    if before is None:
        rows[ALL + place] = own
        for name in FIXED:
            if row[name] is not None:
                rows[filtered(name, row[name]) + place] = own
    elif before[STATUS] != row[STATUS]:
        rows[filtered(STATUS, before[STATUS]) + place] = None
    if before is None or before[STATUS] != row[STATUS]:
        rows[filtered(STATUS, row[STATUS]) + place] = own
    for alias in row["aliases"][0 if before is None else len(before["aliases"]) :]:
        rows[ALIAS + text_key(alias) + place] = b""


def filtered(name: str, value: str) -> bytes:
    """What the keys of tasks with this value begin with."""
    return OF + key(name) + text_key(value)
