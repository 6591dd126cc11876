"""The token bucket of one issuer, in whole millionths of a task, so that every platform agrees.

Each of the P partitions grants its share of the rate and the burst.  A bucket is full when it is
new.  Only a task that is let in costs anything, and time never runs backwards.

Source: SAP spec, 5.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

TASK = 1_000_000
"""Millionths in one task."""


class Limit(NamedTuple):
    """rate: millionths a second.  cap: what a full bucket holds."""

    rate: int
    cap: int

    @classmethod
    def of(cls, rate: Decimal | int, burst: Decimal | int | None, partitions: int) -> Limit | None:
        """The share of one partition; None while the limit is off."""
        if rate <= 0:
            return None
        whole = max(Decimal(1), Decimal(rate)) if burst is None else Decimal(burst)
        return cls(_share(rate, partitions), max(TASK, _share(whole, partitions)))


class Bucket(NamedTuple):
    """level: millionths.  at: ms, the time of the last task that was let in."""

    level: int
    at: int


class Taken(NamedTuple):
    """level: before the task was paid for.  retry_after_ms: None if it was let in."""

    bucket: Bucket
    level: int
    retry_after_ms: int | None


def limit_of(settings: Mapping[str, Any], partitions: int) -> Limit | None:
    """Of the settings as processors see them."""
    return Limit.of(settings["SAP_RATE"], settings["SAP_BURST"], partitions)


def take(limit: Limit, bucket: Bucket | None, now_ms: int) -> Taken:
    """Let one task in at this time, or say when to come again; then the bucket is unchanged."""
    bucket = Bucket(limit.cap, now_ms) if bucket is None else bucket
    at = max(now_ms, bucket.at)
    level = min(limit.cap, bucket.level + limit.rate * (at - bucket.at) // 1000)
    if level >= TASK:
        return Taken(Bucket(level - TASK, at), level, None)
    retry_after = -((TASK - level) * -1000 // max(1, limit.rate))
    return Taken(bucket, level, retry_after)


def _share(tasks: Decimal | int, partitions: int) -> int:
    return round(Fraction(tasks) * TASK / partitions)
