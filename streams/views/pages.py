"""Lists with `limit` and `cursor`, forwards or backwards."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from itertools import islice, takewhile
from typing import Any

from streams.views.keys import after
from streams.views.params import Params, QueryError
from streams.views.reads import Reads

Json = dict[str, Any]
Entries = Iterator[tuple[bytes, Any]]
"""Keys in the order of the list, each with its item, or with None when that does not fit."""

_CHUNK = 128


def listed(params: Params, prefix: bytes, entries: Callable[[bytes | None], Entries]) -> Json:
    """`{"items", "next"}`.  entries: those behind a key, or all; their keys begin with prefix."""
    return page(params.limit(), params.text("cursor"), prefix, entries)


def page(
    most: int, cursor: str | None, prefix: bytes, entries: Callable[[bytes | None], Entries]
) -> Json:
    """As `listed`, of at most so many.  Raises QueryError for a cursor of another query."""
    items: list[Any] = []
    last = prefix
    for place, item in entries(_resume(prefix, cursor)):
        if item is None:
            continue
        if len(items) == most:
            return {"items": items, "next": _cursor(last)}
        items.append(item)
        last = place
    return {"items": items, "next": None}


def rows_of(
    view: Reads,
    prefix: bytes,
    item: Callable[[bytes], Any],
    start: bytes | None = None,
    end: bytes | None = None,
) -> Callable[[bytes | None], Entries]:
    """Rows under a prefix, from `start` on, to `end` at most."""

    def entries(behind: bytes | None) -> Entries:
        first = max(start or prefix, prefix if behind is None else after(behind))
        found = view.scan(prefix, first)
        if end is not None:
            found = takewhile(lambda entry: entry[0] <= end, found)
        return ((place, item(row)) for place, row in found)

    return entries


def rows_back(
    view: Reads, prefix: bytes, item: Callable[[bytes], Any]
) -> Callable[[bytes | None], Entries]:
    """Rows under a prefix, the last first."""

    def entries(behind: bytes | None) -> Entries:
        found = view.scan(prefix, behind, reverse=True)
        return ((place, item(row)) for place, row in found if place != behind)

    return entries


def rows_by(
    view: Reads,
    index: Callable[[bytes | None], Entries],
    item: Callable[[bytes], Any],
) -> Callable[[bytes | None], Entries]:
    """The rows whose keys an index holds."""

    def entries(behind: bytes | None) -> Entries:
        places = index(behind)
        while chunk := list(islice(places, _CHUNK)):
            rows = view.get_many([row_key for _, row_key in chunk])
            for (place, _), row in zip(chunk, rows, strict=True):
                yield place, None if row is None else item(row)

    return entries


def _cursor(last: bytes) -> str:
    return base64.urlsafe_b64encode(last).decode().rstrip("=")


def _resume(prefix: bytes, cursor: str | None) -> bytes | None:
    """The key behind which the page begins.  A cursor of another query is refused."""
    if cursor is None:
        return None
    try:
        last = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        last = b""
    if not last.startswith(prefix) or last == b"":
        raise QueryError("cursor", "not a cursor of this query")
    return last
