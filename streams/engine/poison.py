"""A limit on poison records: those that make the pure decide step raise, the service's fault."""

from __future__ import annotations

from collections import deque

from streams.errors import TooManyDeadLetters

_MINUTE_MS = 60_000
_POISON_COUNT = 20
_POISON_SHARE = 0.01


class PoisonLimit:
    """A limit on poison records: 20, and 1 % of the records, of the last minute.

    Above it the version is at fault, not the records.
    """

    def __init__(self, partition: int) -> None:
        self._partition = partition
        self._minute = Minute()

    def count(self, now: int, records: int, poison: int) -> None:
        """Count the records and poison records of one cycle at `now`, in ms.

        Raises TooManyDeadLetters.
        """
        total, failed = self._minute.add(now, records, poison)
        if failed > _POISON_COUNT and failed > total * _POISON_SHARE:
            raise TooManyDeadLetters(
                f"task {self._partition}: {failed} of {total} records of the last minute cannot be"
                " decided; that is a fault of this version, not of the records"
            )


class Minute:
    """Sums over the last minute, updated incrementally because each cycle needs them."""

    def __init__(self) -> None:
        self._cycles: deque[tuple[int, int, int]] = deque()
        self._records = self._poison = 0

    def add(self, now: int, records: int, poison: int) -> tuple[int, int]:
        """Count one cycle at `now` (ms); return (records, poison) of the last minute."""
        self._cycles.append((now, records, poison))
        self._records += records
        self._poison += poison
        while self._cycles[0][0] < now - _MINUTE_MS:
            _, records, poison = self._cycles.popleft()
            self._records -= records
            self._poison -= poison
        return self._records, self._poison
