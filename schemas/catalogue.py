"""The committed catalogue of schema ids, `catalogue.json`.

Ids start at 1,000,000,000 and are never reused: the file is only appended to, and keeps every
version of every record, so that old bytes stay readable.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import NamedTuple

from schemas.sources import Schema, self_contained

FIRST_ID = 1_000_000_000


class SchemaEntry(NamedTuple):
    """One version of one record.

    schema: self-contained, without documentation.
    """

    id: int
    record: str
    version: int
    schema: Schema


class Catalogue:
    """Schema entries by id, and the latest one of each record by full name."""

    def __init__(self, entries: Sequence[SchemaEntry]) -> None:
        self._by_id = {entry.id: entry for entry in entries}
        self._latest = {entry.record: entry for entry in entries}

    def __iter__(self) -> Iterator[SchemaEntry]:
        return iter(self._by_id.values())

    def __contains__(self, id: int) -> bool:
        return id in self._by_id

    def entry(self, id: int) -> SchemaEntry:
        """Return the entry with this id.  Raises KeyError for an unknown id."""
        return self._by_id[id]

    def latest(self, record: str) -> SchemaEntry:
        """Return the entry that new values of this record are encoded with; KeyError for an unknown
        name.
        """
        return self._latest[record]

    def id_of(self, record: str) -> int:
        return self._latest[record].id

    def versions(self, record: str) -> list[SchemaEntry]:
        return [entry for entry in self if entry.record == record]

    def records(self) -> list[str]:
        return list(self._latest)


def load() -> Catalogue:
    """Read the committed catalogue."""
    text = files("schemas").joinpath("catalogue.json").read_text("utf-8")
    return Catalogue([SchemaEntry(**entry) for entry in json.loads(text)])


CATALOGUE = load()
LATEST_ID = max(entry.id for entry in CATALOGUE)
"""Of the schema that was added last: what a version knows is what has an id up to this."""


def schema_of(record: str) -> Schema:
    """Return the latest schema of a record.

    A record that only occurs inside other records is not in the catalogue; its source is read.
    """
    if record in CATALOGUE.records():
        return CATALOGUE.latest(record).schema
    return self_contained(record)
