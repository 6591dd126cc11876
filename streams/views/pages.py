"""Pagination of lists with `limit` and `cursor`, forwards or backwards."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from itertools import islice, takewhile
from typing import Any

from streams.views.keys import after
from streams.views.parse import QueryError, QueryParams
from streams.views.reads import ReadOnlyStore

Json = dict[str, Any]
Entries = Iterator[tuple[bytes, Any]]
"""Keys in the order of the list, each with its item, or with None if a filter excludes it."""

PAGE_END = object()
"""In place of an item: the page ends before it, since what it has read so far is enough."""
_CHUNK = 128


def page_of(
    params: QueryParams,
    prefix: bytes,
    entries: Callable[[bytes | None], Entries],
    max_entries: int | None = None,
) -> Json:
    """Return one page of a list: `{"items", "next"}`.

    entries: yields the entries after a key, or all; their keys begin with `prefix`.
    max_entries: how many entries are read at most; a page may then have few items, and a `next`.
    """
    return page(params.limit(), params.text("cursor"), prefix, entries, max_entries)


def page(
    limit: int,
    cursor: str | None,
    prefix: bytes,
    entries: Callable[[bytes | None], Entries],
    max_entries: int | None = None,
) -> Json:
    """Return one page of at most `limit` items, as `page_of` does.

    Raises QueryError for a cursor of another query.
    """
    items: list[Any] = []
    last = before = prefix
    for count, (entry_key, item) in enumerate(entries(_decode_cursor(prefix, cursor))):
        if count == max_entries or item is PAGE_END:
            return {"items": items, "next": _encode_cursor(before)}
        before = entry_key
        if item is None:
            continue
        if len(items) == limit:
            return {"items": items, "next": _encode_cursor(last)}
        items.append(item)
        last = entry_key
    return {"items": items, "next": None}


def rows_of(
    view: ReadOnlyStore,
    prefix: bytes,
    item: Callable[[bytes], Any],
    start: bytes | None = None,
    end: bytes | None = None,
) -> Callable[[bytes | None], Entries]:
    """Return the entries of the rows under a prefix, from `start` to `end`, both inclusive."""

    def entries(after_key: bytes | None) -> Entries:
        first = max(start or prefix, prefix if after_key is None else after(after_key))
        rows = view.scan(prefix, first)
        if end is not None:
            rows = takewhile(lambda entry: entry[0] <= end, rows)
        return ((row_key, item(row)) for row_key, row in rows)

    return entries


def rows_reversed(
    view: ReadOnlyStore,
    prefix: bytes,
    item: Callable[[bytes], Any],
    lowest: bytes | None = None,
    end: bytes | None = None,
) -> Callable[[bytes | None], Entries]:
    """Return the entries of the rows under a prefix in reverse order.

    lowest: the last key, inclusive.  end: only keys before this one.
    """

    def entries(before_key: bytes | None) -> Entries:
        start = min((each for each in (before_key, end) if each is not None), default=None)
        rows = view.scan(prefix, start, reverse=True)
        if lowest is not None:
            rows = takewhile(lambda entry: entry[0] >= lowest, rows)
        return ((row_key, item(row)) for row_key, row in rows if start is None or row_key < start)

    return entries


def rows_by_index(
    view: ReadOnlyStore,
    index: Callable[[bytes | None], Entries],
    item: Callable[[bytes], Any],
) -> Callable[[bytes | None], Entries]:
    """Return the entries of the rows whose keys an index holds, in the order of the index."""

    def entries(after_key: bytes | None) -> Entries:
        index_entries = index(after_key)
        while chunk := list(islice(index_entries, _CHUNK)):
            rows = view.get_many([row_key for _, row_key in chunk])
            for (index_key, _), row in zip(chunk, rows, strict=True):
                yield index_key, None if row is None else item(row)

    return entries


def _encode_cursor(last: bytes) -> str:
    return base64.urlsafe_b64encode(last).decode().rstrip("=")


def _decode_cursor(prefix: bytes, cursor: str | None) -> bytes | None:
    """Return the key after which the page begins.  Raises QueryError for another query's cursor."""
    if cursor is None:
        return None
    try:
        last = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        last = b""
    if not last.startswith(prefix) or last == b"":
        raise QueryError("cursor", "not a cursor of this query")
    return last
