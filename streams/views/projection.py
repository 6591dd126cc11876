"""The function type that turns the records of a topic into rows of a view."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from streams.engine.records import Record
from streams.engine.refused_rows import count_refused, standing_rows
from streams.views.changes import WriteBatch
from streams.views.keys import key
from topology.declarations import Topic
from topology.keys import split

Apply = Callable[[Topic, Sequence[Record], WriteBatch], None]
"""Takes records of one topic in log order, and the write batch that it changes."""


def put_once(rows: WriteBatch, records: Sequence[tuple[bytes, Record]]) -> None:
    """Write rows of keys that are written once; the first record of a key stands."""
    rows.load(row_key for row_key, _ in records)
    changed, refused = standing_rows(
        records, lambda key: True, lambda keys: [rows.read(row_key) for row_key in keys]
    )
    rows.update(changed)
    count_refused(refused)


def table(name: str) -> Apply:
    """Return a function that copies a table's rows, keyed by `name` and the parts of the key."""

    def apply(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
        for record in records:
            parts = split((record.key or b"").decode())
            rows[key(name, *parts)] = record.value

    return apply
