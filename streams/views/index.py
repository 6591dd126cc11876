"""Where lists of rows find them: by age, or by age among those that have a certain member."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from streams.views.changes import Changes
from streams.views.keys import key, text_key


class Index(NamedTuple):
    """all, of: what its keys begin with, those of all rows and those of filters.

    fixed: members that never change and may be null, the most selective one first.
    state: the one that changes.  created_at: time (ms) of a row.  id: of a row.
    """

    all: bytes
    of: bytes
    fixed: tuple[str, ...]
    state: str
    created_at: str
    id: str

    @property
    def members(self) -> tuple[str, ...]:
        """Of a row, that the index rests on."""
        return (self.id, *self.fixed, self.state, self.created_at)

    def note(
        self, row: Mapping[str, Any], before: Mapping[str, Any] | None, own: bytes, rows: Changes
    ) -> None:
        """Point to the row whose key is `own`.  before: the row as it was, if it was there."""
        place = self.place(row)
        if before is None:
            rows[self.all + place] = own
            for name in self.fixed:
                if row[name] is not None:
                    rows[self.filtered(name, row[name]) + place] = own
        elif before[self.state] != row[self.state]:
            rows[self.filtered(self.state, before[self.state]) + place] = None
        if before is None or before[self.state] != row[self.state]:
            rows[self.filtered(self.state, row[self.state]) + place] = own

    def place(self, row: Mapping[str, Any]) -> bytes:
        """By age, then id."""
        return key(row[self.created_at]) + text_key(row[self.id])

    def filtered(self, name: str, value: str) -> bytes:
        """What the keys of rows with this value begin with."""
        return self.of + key(name) + text_key(value)

    def among(self, wanted: Mapping[str, str]) -> bytes:
        """What the keys begin with among which all rows are that have these members."""
        names = (*self.fixed, self.state)
        name = next((name for name in names if name in wanted), None)
        return self.all if name is None else self.filtered(name, wanted[name])
