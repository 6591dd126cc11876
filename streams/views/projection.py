"""How the records of a topic become rows of a view."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from streams.engine.records import Record
from streams.views.changes import Changes
from streams.views.keys import key
from topology.declarations import Topic
from topology.keys import split

Apply = Callable[[Topic, Sequence[Record], Changes], None]
"""Takes records of one topic in their order, and the rows that it changes."""


def table(name: str) -> Apply:
    """Rows as on their topic, under the name and the parts of their keys."""

    def apply(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
        for record in records:
            parts = split((record.key or b"").decode())
            rows[key(name, *parts)] = record.value

    return apply
