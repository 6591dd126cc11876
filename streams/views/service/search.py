"""The search for ids by their beginning, in rows whose keys have the id as a text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from streams.views.keys import after, first_text, text_key
from streams.views.reads import RowReader

_END_BYTES = 2
"""The length of the end of a text in a key."""


class SearchedRows(NamedTuple):
    """Rows whose keys begin with the id of a thing.

    kind: of the thing's node.  prefix: of the keys, before the id.
    """

    kind: str
    prefix: bytes


def is_id(view: RowReader, prefix: bytes, id: str) -> bool:
    """Return whether a row's key has exactly this id after the prefix."""
    return any(True for _ in view.scan(prefix + text_key(id)))


def ids_beginning_with(view: RowReader, prefix: bytes, text: str) -> Iterator[str]:
    """Yield the ids after the prefix that begin with a text, each once, in their order."""
    beginning = prefix + text_key(text)[:-_END_BYTES]
    start: bytes | None = None
    while (row := next(view.scan(beginning, start), None)) is not None:
        id = first_text(row[0][len(prefix) :])
        yield id
        start = after(prefix + text_key(id))
