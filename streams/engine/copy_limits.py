"""The limit on the bytes of copied tables: what was written longest ago is left out.

Rows whose keys have the same first part are a group, over all tables under one limit.  When there
are more bytes than the limit, the group whose last row is the oldest goes first, with all its rows.
Rows of it that come later are there again, without the earlier ones: a processor must notice that.
Rows under a limit are written once, so no row has two sizes.

The order is kept in memory, about 250 bytes for each group.  A worker that starts knows which rows
it has, not in which order they came: these go before all later ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from prometheus_client.core import Metric

from streams.engine.rows import Bytes, store_key
from streams.engine.store import Store
from streams.telemetry.metrics import MetricDeclaration, metric_family
from topology.declarations import Table

COPY_BYTES = MetricDeclaration(
    "headrace_copy_bytes",
    "gauge",
    "Bytes of the rows of copied tables that have a limit, by the setting with that limit.",
    ("setting",),
    True,
)
EVICTED = MetricDeclaration(
    "headrace_copy_evicted_keys_total",
    "counter",
    "Keys that were left out of copied tables, with all their rows, because of their limit.",
    ("setting",),
    True,
)


class LimitStatus(NamedTuple):
    """The measurements of one limit.  evicted: the keys left out since the process started."""

    setting: str
    size_bytes: int
    evicted: int


class CopyLimit:
    """The rows of some copied tables in the order of their groups' last rows, and their limit."""

    def __init__(self, setting: str, max_bytes: int, tables: Collection[Table]) -> None:
        self._setting = setting
        self._max_bytes = max_bytes
        self._names = {table.name.encode() for table in tables}
        self._prefixes = [store_key(table.name, "") for table in tables]
        self._sizes: dict[bytes, int] = {}
        self._total = 0
        self._evicted = 0

    def load(self, store: Store) -> Bytes:
        """Count the rows that the store has; return the deletions that bring it below the limit."""
        self._sizes, self._total = {}, 0
        for prefix in self._prefixes:
            self._count(store.scan(prefix))
        return self._evict({}, store)

    def apply(self, rows: Mapping[bytes, bytes | None], store: Store) -> Bytes:
        """Count new rows; return the deletions of what goes for them, these rows among it.

        rows: by store key, each of them new if it is under the limit.
        """
        self._count((key, value) for key, value in rows.items() if value is not None)
        return self._evict(rows, store)

    def _count(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        for key, value in rows:
            group = self._group_of(key)
            if group is not None:
                size = len(key) + len(value)
                self._sizes[group] = self._sizes.pop(group, 0) + size
                self._total += size

    def _group_of(self, key: bytes) -> bytes | None:
        """Return the first part of a row's key, None if its table is not under the limit."""
        name, _, row_key = key.partition(b"\0")
        return row_key.partition(b"/")[0] if name in self._names else None

    def _evict(self, rows: Iterable[bytes], store: Store) -> Bytes:
        groups: set[bytes] = set()
        while self._total > self._max_bytes:
            group = next(iter(self._sizes))
            self._total -= self._sizes.pop(group)
            groups.add(group)
        self._evicted += len(groups)
        if not groups:
            return {}
        stored = (store.scan(prefix + group) for group in groups for prefix in self._prefixes)
        keys = (*rows, *(key for scan in stored for key, _ in scan))
        return {key: None for key in keys if self._group_of(key) in groups}

    def status(self) -> LimitStatus:
        return LimitStatus(self._setting, self._total, self._evicted)


def metrics(limits: Sequence[LimitStatus]) -> list[Metric]:
    """Return the metrics of these limits."""
    return [
        metric_family(COPY_BYTES, {(one.setting,): one.size_bytes for one in limits}),
        metric_family(EVICTED, {(one.setting,): one.evicted for one in limits}),
    ]
