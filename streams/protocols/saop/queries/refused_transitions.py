"""The rejected transitions of a task, by the index of its session's rejections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from streams.views.keys import key, number_at_end
from streams.views.reads import RowReader


class RefusedTransition(NamedTuple):
    """A rejected transition.

    index_key: that names its task.  partition, offset: of its RtesRejection.  row: that fact.
    """

    index_key: bytes
    partition: int
    offset: int
    row: bytes


def refused_transitions(
    view: RowReader, session_id: str, task_id: str
) -> Iterator[RefusedTransition]:
    """Yield the rejected transitions of a task in the order of their partition."""
    index = [row_key for row_key, _ in view.scan(key("rejection of task", session_id, task_id))]
    places = [(number_at_end(row_key[:-8]), number_at_end(row_key)) for row_key in index]
    rows = view.get_many([key("rejection", session_id, *place) for place in places])
    for index_key, place, row in zip(index, places, rows, strict=True):
        if row is not None:
            yield RefusedTransition(index_key, *place, row)
