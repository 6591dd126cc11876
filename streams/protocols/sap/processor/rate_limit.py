"""The token bucket of one issuer, in whole millionths of a task, so that every platform agrees.

Each of the P partitions grants its share of the rate and the burst.  A new bucket is full.  Only an
admitted task costs tokens, and time never runs backwards.

Source: SAP guide, 5.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

TASK = 1_000_000
"""Millionths in one task."""


class Limit(NamedTuple):
    """A rate limit.  rate: millionths per second.  cap: the content of a full bucket."""

    rate: int
    cap: int

    @classmethod
    def of(cls, rate: Decimal | int, burst: Decimal | int | None, partitions: int) -> Limit | None:
        """Return one partition's share of the limit, None if the limit is off."""
        if rate <= 0:
            return None
        whole = max(Decimal(1), Decimal(rate)) if burst is None else Decimal(burst)
        return cls(_share(rate, partitions), max(TASK, _share(whole, partitions)))


class Bucket(NamedTuple):
    """The bucket of an issuer.  level: millionths.  at: ms, the time of its last admitted task."""

    level: int
    at: int


class Admission(NamedTuple):
    """The result of taking a task's cost from a bucket.

    level: before the cost was taken.  retry_after_ms: None if the task was admitted.
    """

    bucket: Bucket
    level: int
    retry_after_ms: int | None


def limit_of(settings: Mapping[str, Any], partitions: int) -> Limit | None:
    """Return the limit of a processor's settings."""
    return Limit.of(settings["SAP_RATE"], settings["SAP_BURST"], partitions)


def take(limit: Limit, bucket: Bucket | None, now_ms: int) -> Admission:
    """Admit one task, or return when to retry with the bucket unchanged."""
    bucket = Bucket(limit.cap, now_ms) if bucket is None else bucket
    at = max(now_ms, bucket.at)
    level = min(limit.cap, bucket.level + limit.rate * (at - bucket.at) // 1000)
    if level >= TASK:
        return Admission(Bucket(level - TASK, at), level, None)
    retry_after = -((TASK - level) * -1000 // max(1, limit.rate))
    return Admission(bucket, level, retry_after)


def _share(tasks: Decimal | int, partitions: int) -> int:
    return round(Fraction(tasks) * TASK / partitions)
