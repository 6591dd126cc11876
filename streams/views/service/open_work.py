"""Counters of open things, by protocol, kind and state.

| key                           | value                                                        |
|-------------------------------|--------------------------------------------------------------|
| service open, protocol, kind  | JSON: how many are in each open state                        |
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import orjson

from streams.views.changes import Cell, WriteBatch
from streams.views.keys import key
from streams.views.reads import ReadOnlyStore


def _load(row: bytes | None) -> dict[str, int]:
    return {} if row is None else orjson.loads(row)


def _dump(counts: dict[str, int]) -> bytes | None:
    left = {state: count for state, count in counts.items() if count}
    return orjson.dumps(left, option=orjson.OPT_SORT_KEYS) if left else None


_COUNTS: Cell[dict[str, int]] = Cell(_load, _dump)


@dataclass(frozen=True)
class OpenWork:
    """A kind of things that a protocol counts while they are open, such as tasks.

    closed: the states in which one is not open.
    """

    protocol: str
    kind: str
    closed: Collection[str]

    def move(self, before: str | None, after: str | None, rows: WriteBatch) -> None:
        """Count a change of state; None before the first one and after the last one."""
        if before == after:
            return
        was_open = before is not None and before not in self.closed
        is_open = after is not None and after not in self.closed
        if was_open or is_open:
            counts = rows.cell(self._key, _COUNTS)
            if before is not None and was_open:
                counts[before] = counts.get(before, 0) - 1
            if after is not None and is_open:
                counts[after] = counts.get(after, 0) + 1

    def counts(self, view: ReadOnlyStore) -> dict[str, int]:
        """Return how many are in each open state, by its name."""
        (row,) = view.get_many([self._key])
        return _load(row)

    @cached_property
    def _key(self) -> bytes:
        return key("service open", self.protocol, self.kind)
