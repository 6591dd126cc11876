"""Counters of facts by time, topic, verdict and rule.

| key                              | value                                                     |
|----------------------------------|-----------------------------------------------------------|
| service counts, size, bucket     | JSON: counts by topic, verdict and rule, in one text each |
| service counts newest            | the latest minute in which a fact lies                    |

A bucket is the number of whole sizes since the epoch.  Buckets are kept for a time before the
newest fact, not before now, so they are a function of the log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import orjson

from streams.views.changes import WriteBatch
from streams.views.keys import key, number_at_end
from streams.views.reads import ReadOnlyStore

MINUTE_MS = 60_000
Counts = Mapping[tuple[str, str, str], int]
"""By topic without prefix, verdict and rule."""
_NEWEST = key("service counts newest")


class BucketSize(NamedTuple):
    """A size of buckets, in minutes, and how many of them are kept."""

    name: str
    minutes: int
    retained: int

    @property
    def prefix(self) -> bytes:
        return key("service counts", self.name)

    @property
    def seconds(self) -> int:
        return self.minutes * 60

    def bucket(self, at_ms: int) -> int:
        return at_ms // (self.minutes * MINUTE_MS)


MINUTE = BucketSize("minute", 1, 2 * 60)
TEN_MINUTES = BucketSize("ten minutes", 10, 48 * 6)
HOUR = BucketSize("hour", 60, 90 * 24)
SIZES = (MINUTE, TEN_MINUTES, HOUR)


def add_counts(counts: Mapping[tuple[int, str, str, str], int], rows: WriteBatch) -> None:
    """Add counts by minute, topic, verdict and rule to the rows, and remove what is too old."""
    if not counts:
        return
    stored = rows.read(_NEWEST)
    before = None if stored is None else int(stored)
    latest = max(minute for minute, *_ in counts)
    newest = latest if before is None else max(before, latest)
    if newest != before:
        rows[_NEWEST] = b"%d" % newest
    for size in SIZES:
        oldest = newest // size.minutes - size.retained + 1
        if before is not None and newest // size.minutes != before // size.minutes:
            for row_key in list(rows.stored_until(size.prefix, size.prefix + key(oldest))):
                rows[row_key] = None
        _add_to_buckets(size, counts, oldest, rows)


def _add_to_buckets(
    size: BucketSize,
    counts: Mapping[tuple[int, str, str, str], int],
    oldest: int,
    rows: WriteBatch,
) -> None:
    buckets: dict[int, Counter[str]] = {}
    for (minute, *labels), count in counts.items():
        bucket = minute // size.minutes
        if bucket >= oldest:
            buckets.setdefault(bucket, Counter())[" ".join(labels)] += count
    for bucket, more in buckets.items():
        row_key = size.prefix + key(bucket)
        row = rows.read(row_key)
        for label, count in ({} if row is None else orjson.loads(row)).items():
            more[label] += count
        rows[row_key] = orjson.dumps(more, option=orjson.OPT_SORT_KEYS)


def counts_between(
    view: ReadOnlyStore, size: BucketSize, first: int, last: int
) -> Iterator[tuple[int, Counts]]:
    """Yield the counts of each bucket that has any, from the first to the last, inclusive."""
    for row_key, row in view.scan(size.prefix, size.prefix + key(first)):
        bucket = number_at_end(row_key)
        if bucket > last:
            return
        yield bucket, {_labels(text): count for text, count in orjson.loads(row).items()}


def _labels(text: str) -> tuple[str, str, str]:
    topic, verdict, rule = text.split(" ", 2)
    return topic, verdict, rule
