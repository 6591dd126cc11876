"""The token bucket in whole millionths, with the guide's own figures."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.protocols.sap.processor.rate_limit import TASK, Bucket, Limit, take
from tests.unit.protocols.sap.processor.support import START_MS, Bench, task, uuid
from topology.sap import SAP_RATE_LIMITS

EXAMPLE = Limit(500_000, 2_000_000)


def test_the_example_of_the_spec() -> None:
    assert Limit.of(6, 24, 12) == EXAMPLE
    taken = take(EXAMPLE, Bucket(250_000, 0), 400)
    assert (taken.level, taken.retry_after_ms) == (450_000, 1100)
    assert take(EXAMPLE, Bucket(250_000, 0), 1499).retry_after_ms == 1
    assert take(EXAMPLE, Bucket(250_000, 0), 1500).retry_after_ms is None


@pytest.mark.parametrize(
    ("rate", "burst", "partitions", "limit"),
    [
        (Decimal(0), None, 4, None),
        (Decimal(1), None, 1, Limit(1_000_000, 1_000_000)),
        (Decimal("0.5"), None, 1, Limit(500_000, 1_000_000)),
        (Decimal(8), None, 4, Limit(2_000_000, 2_000_000)),
        (Decimal(1), Decimal(2), 4, Limit(250_000, 1_000_000)),
        (Decimal(1), Decimal(0), 1, Limit(1_000_000, 1_000_000)),
        (Decimal(1), None, 3, Limit(333_333, 1_000_000)),
    ],
)
def test_each_partition_grants_its_share(
    rate: Decimal, burst: Decimal | None, partitions: int, limit: Limit | None
) -> None:
    assert Limit.of(rate, burst, partitions) == limit


def test_time_never_runs_backwards() -> None:
    taken = take(EXAMPLE, Bucket(1_500_000, 1000), 0)
    assert taken.bucket == Bucket(500_000, 1000)


LIMITS = st.builds(Limit, st.integers(1, 10**8), st.integers(TASK, 10**8))


@given(LIMITS, st.lists(st.integers(0, 20_000), max_size=30))
def test_no_more_is_let_in_than_burst_and_rate_allow(limit: Limit, gaps: list[int]) -> None:
    bucket, now, let_in = None, 0, 0
    for gap in gaps:
        now += gap
        taken = take(limit, bucket, now)
        let_in += taken.retry_after_ms is None
        if taken.retry_after_ms is not None:
            assert taken.bucket == bucket
            assert take(limit, bucket, now + taken.retry_after_ms).retry_after_ms is None
        bucket = taken.bucket
        assert 0 <= bucket.level <= limit.cap
    assert let_in * TASK <= limit.cap + Fraction(limit.rate * now, 1000)


def test_a_refused_task_costs_nothing_and_does_not_own_its_id() -> None:
    bench = Bench(sap_rate=Decimal(1), sap_burst=Decimal(2))
    assert [bench.task(task(taskId=uuid(n)))["rule"] for n in range(3)] == [
        "accepted",
        "accepted",
        "rate_limited",
    ]
    before = bench.stored()
    refused = bench.task(task(taskId=uuid(2)))
    assert (refused["status"], refused["code"], refused["fault"]) == (
        "NACK",
        "RATE_LIMIT",
        "sender",
    )
    assert refused["retryAfterMs"] == 1000
    assert refused["figures"] == {"level": 0, "rate": TASK, "cap": 2 * TASK, "needed": TASK}
    assert bench.stored() == before
    assert bench.task(task(taskId=uuid(0)))["rule"] == "duplicate"
    assert bench.stored() == before
    assert bench.task(task(taskId=uuid(2)), START_MS + 1000)["rule"] == "accepted"


def test_buckets_are_per_issuer() -> None:
    bench = Bench(sap_rate=Decimal(1))
    assert bench.task(task(taskId=uuid(1)))["rule"] == "accepted"
    other = task(taskId=uuid(2), issuer={"agentId": "a/b"})
    assert bench.task(other)["rule"] == "accepted"
    assert set(bench.rows(SAP_RATE_LIMITS)) == {"A-prime", "a%2Fb"}


def test_without_a_rate_there_are_no_buckets() -> None:
    bench = Bench()
    bench.task()
    assert bench.rows(SAP_RATE_LIMITS) == {}
