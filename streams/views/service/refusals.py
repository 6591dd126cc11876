"""The refused and the duplicate records by time, for lists with filters.

| key                                                 | value                                 |
|-----------------------------------------------------|---------------------------------------|
| service verdict, at, partition, offset, topic       | JSON: `Judgement` without `at`        |
| service verdict of, member, value, at, partition, offset, topic | nothing                   |
| service verdict node, node                          | nothing                               |

The position is that of the fact.  Nodes are indexed because the lineage graph has no edges of what
was refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice

import orjson

from streams.engine.records import Record
from streams.views.changes import WriteBatch
from streams.views.keys import key, position_key, text_key
from streams.views.pages import Entries
from streams.views.reads import ReadOnlyStore
from streams.views.service.verdicts import DUPLICATE, REJECTED, Judgement, LateSender

_VERDICT, _OF = key("service verdict"), key("service verdict of")
NODE = key("service verdict node")
LISTED = frozenset({REJECTED, DUPLICATE})
"""Accepted records are in the lists of the protocols; to index them would double the view."""
INDEXED = ("rule", "protocol")
"""The members with an index, the most selective one first."""
_PREFIXES = {member: _OF + key(member) for member in INDEXED}
_CHUNK = 128
_NUMBER_BYTES = 8


def add_refusal(judgement: Judgement, record: Record, rows: WriteBatch) -> None:
    """Store a verdict that a list shows."""
    place = _place(judgement.at, judgement.topic, record.partition, record.offset)
    rows[_VERDICT + place] = orjson.dumps(judgement[1:])
    for member in INDEXED:
        rows[_index_prefix(member, getattr(judgement, member)) + place] = b""
    if judgement.node is not None:
        rows[NODE + text_key(judgement.node)] = b""


def name_sender(late: LateSender, rows: WriteBatch) -> None:
    """Add to a stored verdict who sent its record."""
    row_key = _VERDICT + _place(late.counted.at, late.topic, late.partition, late.offset)
    row = rows.read(row_key)
    if row is not None:
        judgement = Judgement(late.counted.at, *orjson.loads(row))
        rows[row_key] = orjson.dumps(judgement._replace(agent=late.counted.agent)[1:])


def _place(at: int, topic: str, partition: int, offset: int) -> bytes:
    return position_key(at, partition, offset) + text_key(topic)


def _index_prefix(member: str, value: str) -> bytes:
    return _PREFIXES[member] + text_key(value)


def prefix_of(filters: Mapping[str, str]) -> bytes:
    """Return the prefix of the narrowest index for the filters."""
    for member in INDEXED:
        if member in filters:
            return _index_prefix(member, filters[member])
    return _VERDICT


def latest_refusals(
    view: ReadOnlyStore, filters: Mapping[str, str], start_ms: int | None, end_ms: int | None
) -> Callable[[bytes | None], Entries]:
    """Return the entries of the verdicts, the latest first; None for one that does not match.

    filters: by member of a judgement.  start_ms: the earliest time.  end_ms: the first time after.
    """
    prefix = prefix_of(filters)
    lowest = prefix if start_ms is None else prefix + key(start_ms)
    end = None if end_ms is None else prefix + key(end_ms)

    def entries(before_key: bytes | None) -> Entries:
        start = min((each for each in (before_key, end) if each is not None), default=None)
        row_keys = (
            row_key
            for row_key, _ in view.scan(prefix, start, reverse=True)
            if start is None or row_key < start
        )
        while chunk := list(islice(row_keys, _CHUNK)):
            rows = view.get_many([_VERDICT + row_key[len(prefix) :] for row_key in chunk])
            for row_key, row in zip(chunk, rows, strict=True):
                if row_key < lowest:
                    return
                yield row_key, _matching(row_key[len(prefix) :], row, filters)

    return entries


def _matching(place: bytes, row: bytes | None, filters: Mapping[str, str]) -> Judgement | None:
    if row is None:
        return None
    at = int.from_bytes(place[:_NUMBER_BYTES], "big") - (1 << 63)
    judgement = Judgement(at, *orjson.loads(row))
    fits = all(getattr(judgement, name) == value for name, value in filters.items())
    return judgement if fits else None
