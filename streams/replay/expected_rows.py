"""Rows that facts mention but no fold rebuilds; each must exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from streams.replay.facts import Fact
from streams.replay.spill import MemorySpill, SpillMap, SpillStore
from topology.declarations import Table


class ExpectedRow(NamedTuple):
    """A row that must exist.

    task: the task that has the row.  fact: the position of a fact that mentions it.
    """

    table: str
    task: int
    key: str
    fact: str


class ExpectedRows:
    """The rows that must exist, in a scratch store.  Tables with a row lifetime are ignored."""

    def __init__(self, scratch: SpillStore | MemorySpill) -> None:
        self._debts = SpillMap(scratch, "owed")

    def row(self, table: Table, key: str, fact: Fact) -> None:
        """Add a row that belongs to the task that wrote the fact."""
        if table.lifetime_ms is None:
            debt = ExpectedRow(table.name, fact.partition, key, fact.place)
            self._debts.put(debt, f"{table.name}/{fact.partition}/{key}")

    def all(self) -> Iterator[ExpectedRow]:
        return (debt for _, debt in self._debts.items())
