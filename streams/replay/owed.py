"""Rows that facts speak of and that no folding makes: each of them must be there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from streams.replay.facts import Fact
from streams.replay.scratch import Scratch, Values
from topology.declarations import Table


class Debt(NamedTuple):
    """task: whose row it is.  fact: the position of one that speaks of it."""

    table: str
    task: int
    key: str
    fact: str


class Owed:
    """In a scratch.  Tables in which rows have a lifetime owe nothing."""

    def __init__(self, scratch: Scratch) -> None:
        self._debts = Values(scratch, "owed")

    def row(self, table: Table, key: str, fact: Fact) -> None:
        """A row of the task that wrote the fact."""
        if table.lifetime_ms is None:
            debt = Debt(table.name, fact.partition, key, fact.place)
            self._debts.put(debt, f"{table.name}/{fact.partition}/{key}")

    def all(self) -> Iterator[Debt]:
        return (debt for _, debt in self._debts.items())
