"""The rows of tasks, and their index for lists.

All members that lists filter by are fixed when a task is created, except its status.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemas.projection import Projection
from streams.engine.records import Record
from streams.views.changes import WriteBatch
from streams.views.decoded import decode_members
from streams.views.index import Index
from streams.views.keys import key, text_key
from topology.asap import ASAP_TASKS
from topology.declarations import Topic

ROW, ALIAS = key("asap task"), key("asap alias")
STATUS = "status"
TASKS = Index(
    all=key("asap all"),
    of=key("asap of"),
    fixed=("parent_task_id", "conversation_id", "requester", "worker", "skill_id"),
    state=STATUS,
    created_at="created_at",
    id="task_id",
)
_ROWS = Projection(ASAP_TASKS.record or "", (*TASKS.members, "aliases"))


def apply(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    changed = [
        (record, row, ROW + text_key(row["task_id"]))
        for record, row in decode_members(topic, records, _ROWS)
    ]
    rows.load([row_key for _, _, row_key in changed])
    for record, row, row_key in changed:
        stored = rows.read(row_key)
        rows[row_key] = record.value
        before = None if stored is None else _ROWS.of(stored)
        TASKS.note(row, before, row_key, rows)
        for alias in row["aliases"][0 if before is None else len(before["aliases"]) :]:
            rows[ALIAS + text_key(alias) + TASKS.place(row)] = b""
