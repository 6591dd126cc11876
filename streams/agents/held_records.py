"""The records of an inbox that an agent has read and not yet answered, the most urgent first.

Source: SAP guide, 5.2, Dispatch.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable
from typing import Any

from schemas.sap import delivery_rank
from streams.client import TailRecord


class HeldRecords:
    """Records are taken by priority, and in the order of the log within one.

    A cursor is only good behind records that are all finished, so `finish` gives one when there is
    no gap before it: after a restart an agent reads again what it had not finished.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, TailRecord]] = []
        self._unfinished: deque[tuple[int, str]] = deque()
        self._finished: set[int] = set()
        self._count = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, records: Iterable[TailRecord]) -> None:
        """Hold records, in the order of the log."""
        for record in records:
            heapq.heappush(self._waiting, (_rank(record.value), self._count, record))
            self._unfinished.append((self._count, record.cursor))
            self._count += 1

    def take(self) -> tuple[int, TailRecord]:
        """Remove and return the next record, with the number that `finish` takes."""
        _, number, record = heapq.heappop(self._waiting)
        return number, record

    def finish(self, number: int) -> str | None:
        """Return the cursor behind the last record of which, and before which, all are finished.

        None if it has not moved.
        """
        self._finished.add(number)
        cursor = None
        while self._unfinished and self._unfinished[0][0] in self._finished:
            first, cursor = self._unfinished.popleft()
            self._finished.remove(first)
        return cursor


def _rank(task: Any) -> int:
    """Return the rank of a task; what is no task goes with the normal ones."""
    return delivery_rank(task if isinstance(task, dict) else {})
