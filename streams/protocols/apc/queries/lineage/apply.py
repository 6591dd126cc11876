"""Updates of lineage by facts: packets are added when accepted, subtracted when uncounted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.protocols.apc.queries.lineage.entry import UNCOUNTED, Entry, entry_of
from streams.protocols.apc.queries.lineage.tally import count, scopes_of
from streams.views.changes import WriteBatch
from streams.views.keys import key

_COUNTED, _UNCOUNTED = b"+", b"-"
"""The first byte of a packet's row: whether it is counted."""


def load(facts: Sequence[Mapping[str, Any]], rows: WriteBatch) -> None:
    """Load the rows that a batch of facts may change."""
    rows.load(_key(fact) for fact in facts if _changes_state(fact) and fact["state"] in UNCOUNTED)


def add_packet(
    fact: Mapping[str, Any],
    packet: Mapping[str, Any],
    position: tuple[int, int, int],
    rows: WriteBatch,
) -> None:
    """Add the packet of a verdict; packet: its JSON form; position: of its record."""
    entry = entry_of(fact, packet, position)
    if entry is None:
        return
    row_key = _key(fact)
    if fact["state"] in UNCOUNTED:
        rows[row_key] = _UNCOUNTED + entry.dump()
    else:
        rows[row_key] = _COUNTED + entry.dump()
        count(entry, 1, row_key, rows, scopes_of(entry))


def subtract_packet(fact: Mapping[str, Any], rows: WriteBatch) -> None:
    """Subtract a packet if this fact about it ends its being counted."""
    if not _changes_state(fact) or fact["state"] not in UNCOUNTED:
        return
    row_key = _key(fact)
    row = rows.read(row_key)
    if row is not None and row.startswith(_COUNTED):
        entry = Entry.load(row[1:])
        rows[row_key] = _UNCOUNTED + row[1:]
        count(entry, -1, row_key, rows, scopes_of(entry))


def _changes_state(fact: Mapping[str, Any]) -> bool:
    return fact["verdict"] in ("effect", "fired") and fact["packet_id"] is not None


def _key(fact: Mapping[str, Any]) -> bytes:
    return key("lineage packet", fact["session_id"], fact["packet_id"])
