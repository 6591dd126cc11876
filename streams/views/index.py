"""Secondary indexes for lists of rows: by age, and by age per value of a member."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from streams.views.changes import WriteBatch
from streams.views.keys import key, text_key


class Index(NamedTuple):
    """A secondary index of a table's rows.

    all, of: key prefixes of the index of all rows, and of the indexes by value.
    fixed: members that never change and may be null, the most selective one first.
    state: the member that changes.  created_at: the member with a row's time (ms).
    id: the member with a row's id.
    """

    all: bytes
    of: bytes
    fixed: tuple[str, ...]
    state: str
    created_at: str
    id: str

    @property
    def members(self) -> tuple[str, ...]:
        """Return the members of a row that the index needs."""
        return (self.id, *self.fixed, self.state, self.created_at)

    def note(
        self,
        row: Mapping[str, Any],
        before: Mapping[str, Any] | None,
        row_key: bytes,
        rows: WriteBatch,
    ) -> None:
        """Update the index for a row.  before: the earlier row, if there was one."""
        sort_key = self.sort_key(row)
        if before is None:
            rows[self.all + sort_key] = row_key
            for name in self.fixed:
                if row[name] is not None:
                    rows[self.filtered(name, row[name]) + sort_key] = row_key
        elif before[self.state] != row[self.state]:
            rows[self.filtered(self.state, before[self.state]) + sort_key] = None
        if before is None or before[self.state] != row[self.state]:
            rows[self.filtered(self.state, row[self.state]) + sort_key] = row_key

    def sort_key(self, row: Mapping[str, Any]) -> bytes:
        """Return the sort key of a row: age, then id."""
        return key(row[self.created_at]) + text_key(row[self.id])

    def filtered(self, name: str, value: str) -> bytes:
        """Return the prefix of the index keys of rows with this value."""
        return self.of + key(name) + text_key(value)

    def among(self, members: Mapping[str, str]) -> bytes:
        """Return the prefix of the most selective index of all rows with these members."""
        names = (*self.fixed, self.state)
        name = next((name for name in names if name in members), None)
        return self.all if name is None else self.filtered(name, members[name])
