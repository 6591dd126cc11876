"""From facts to lineage: packets are counted in when accepted, out when they stop to count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.protocols.apc.queries.lineage.entry import UNCOUNTED, Entry, entry_of
from streams.protocols.apc.queries.lineage.tally import count, scopes_of
from streams.views.changes import WriteBatch
from streams.views.keys import key

_IN, _OUT = b"+", b"-"
"""What the row of a packet begins with: whether it is counted."""


def load(facts: Sequence[Mapping[str, Any]], rows: WriteBatch) -> None:
    """Fetch what a batch of facts will look at."""
    rows.load(_key(fact) for fact in facts if _moves(fact) and fact["state"] in UNCOUNTED)


def accepted(
    fact: Mapping[str, Any],
    packet: Mapping[str, Any],
    place: tuple[int, int, int],
    rows: WriteBatch,
) -> None:
    """The verdict on a packet; packet: its JSON form; place: of its record."""
    entry = entry_of(fact, packet, place)
    if entry is None:
        return
    row_key = _key(fact)
    if fact["state"] in UNCOUNTED:
        rows[row_key] = _OUT + entry.dump()
    else:
        rows[row_key] = _IN + entry.dump()
        count(entry, 1, row_key, rows, scopes_of(entry))


def moved(fact: Mapping[str, Any], rows: WriteBatch) -> None:
    """Another fact about a packet: it may have ceased to be counted."""
    if not _moves(fact) or fact["state"] not in UNCOUNTED:
        return
    row_key = _key(fact)
    row = rows.read(row_key)
    if row is not None and row.startswith(_IN):
        entry = Entry.load(row[1:])
        rows[row_key] = _OUT + row[1:]
        count(entry, -1, row_key, rows, scopes_of(entry))


def _moves(fact: Mapping[str, Any]) -> bool:
    return fact["verdict"] in ("effect", "fired") and fact["packet_id"] is not None


def _key(fact: Mapping[str, Any]) -> bytes:
    return key("lineage packet", fact["session_id"], fact["packet_id"])
