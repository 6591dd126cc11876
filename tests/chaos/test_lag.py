"""A backlog written before any worker was there; `python -m tests.chaos.lag` has a million."""

from __future__ import annotations

import random

import pytest

from tests.chaos.cluster import Cluster
from tests.chaos.lag import work_off

pytestmark = pytest.mark.slow

RECORDS = 60_000
PAD = 12_000
BACKLOG_MB = RECORDS * PAD / 2**20


def test_a_backlog_is_worked_off_once_in_less_memory_than_it_has_with_the_lag_falling(
    cluster: Cluster, dice: random.Random
) -> None:
    outcome = work_off(cluster, RECORDS, dice, pad=PAD)
    assert outcome.exact, outcome
    assert outcome.peak_mb - outcome.rest_mb < BACKLOG_MB / 2, outcome
    lags = [sample.lag for sample in outcome.samples]
    falling = [lag for lag in lags if 0 < lag < RECORDS]
    assert falling, "no progress was to be seen"
    assert falling == sorted(falling, reverse=True)
