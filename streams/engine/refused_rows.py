"""The rows that are refused: which record of a key stands, and how many others there were.

Of the records of a key that is written once, the first one stands (`Table.written_once`).  A later
record with other bytes, or without value, is refused; one with equal bytes is skipped.  So a record
that somebody else writes onto the topic does not replace what a task has written.

Counts are those of the process, since workers and gateways export them once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from prometheus_client.core import Metric

from streams.engine.records import Record, position
from streams.engine.rows import Bytes, GetMany
from streams.telemetry.metrics import MetricDeclaration, metric_family
from topology.declarations import Table
from topology.keys import split

log = logging.getLogger(__name__)

WRITTEN_ONCE = "written_once"
"""The reason why a later record of a key is refused."""
_WARN_EVERY_S = 60.0

ROW_REFUSED = "row_refused"
"""The code of dead letters of records and timers that need a row which is refused."""

REFUSED = MetricDeclaration(
    "headrace_rows_refused_total",
    "counter",
    "Rows and facts that are not used, by reason: `written_once`, a later record of a key that is"
    " written once; `mac_…` and `key_partition`, a record that no processor has written there;"
    " others, a cached version that does not count. Counted again when they are read again.",
    ("topic", "reason"),
    True,
)


class RowRefused(Exception):
    """An error for a row of which only refused records are left.  place: position of the last."""

    def __init__(self, store_key: bytes, place: str) -> None:
        table, _, key = store_key.decode(errors="replace").partition("\0")
        super().__init__(f"the row {key} of {table} is refused, see {place}")
        self.place = place


class RefusedRows:
    """The counts of refused rows by topic and reason, and their warnings.

    clock: seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._unreported: Counter[str] = Counter()
        self._warned_at: dict[str, float] = {}

    def count(self, topic: str, reason: str, place: str) -> None:
        """Count a row, and warn once per topic and minute.  place: its position or its key."""
        now = self._clock()
        with self._lock:
            self._counts[topic, reason] += 1
            self._unreported[topic] += 1
            if now - self._warned_at.get(topic, now - _WARN_EVERY_S) < _WARN_EVERY_S:
                return
            self._warned_at[topic], number = now, self._unreported.pop(topic)
        log.warning("%d rows of %s are refused, the last one %s: %s", number, topic, place, reason)

    def counts(self) -> Mapping[tuple[str, str], int]:
        with self._lock:
            return dict(self._counts)


PROCESS = RefusedRows()
"""The counts of this process."""


def metric() -> Metric:
    return metric_family(REFUSED, {labels: float(n) for labels, n in PROCESS.counts().items()})


def is_written_once(table: Table, key: bytes) -> bool:
    """Return whether the rows of this key are written once."""
    parts = table.written_once
    return parts is not None and len(split(key.decode(errors="replace"))) == parts


def standing_rows(
    records: Iterable[tuple[bytes, Record]], is_once: Callable[[bytes], bool], stored: GetMany
) -> tuple[Bytes, list[Record]]:
    """Return the rows that stand after these records, and the records that are refused.

    records: with the keys of their rows, in log order.  is_once: whether a row is written once.
    """
    pairs = list(records)
    once = {key for key, _ in pairs if is_once(key)}
    first = dict(zip(once, stored(list(once)), strict=True)) if once else {}
    rows: Bytes = {}
    refused = []
    for key, record in pairs:
        if key not in once:
            rows[key] = record.value
        elif record.value is None or first[key] not in (None, record.value):
            refused.append(record)
        elif first[key] is None:
            rows[key] = first[key] = record.value
    return rows, refused


def count_refused(records: Iterable[Record]) -> None:
    """Count records that are refused because their key is written once."""
    for record in records:
        PROCESS.count(record.topic, WRITTEN_ONCE, position(record))
