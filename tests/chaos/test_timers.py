"""A deadline counts by the log: what lay there before it was in time, whenever it is read."""

from __future__ import annotations

import random
import time

import pytest

from tests.chaos import exact
from tests.chaos.cluster import Cluster
from tests.processes import wait_for
from tests.toy import FACTS, INPUT

pytestmark = pytest.mark.slow


def test_an_answer_that_lay_in_the_log_in_time_counts_though_the_worker_was_down(
    cluster: Cluster, dice: random.Random
) -> None:
    waiting = [f"t{i}" for i in range(6000)]
    in_time = set(dice.sample(waiting, 4000))
    limit_ms = 8000
    worker = cluster.start("only")
    worker.wait_ready()
    cluster.send([cluster.record(ident, timer=limit_ms) for ident in waiting])
    cluster.tail(FACTS).until(len(waiting))
    worker.end()
    # The answers lie behind a backlog, so that a due timer would fire long before they are read.
    cluster.send_counts(10_000, dice)
    cluster.send([cluster.record(ident, answer="yes") for ident in sorted(in_time)])
    records = cluster.tail(INPUT).catch_up()
    first_due = min(r.timestamp for r in records) + limit_ms
    last_due = max(r.timestamp for r in records if r.offset < len(waiting)) + limit_ms
    assert max(r.timestamp for r in records) < first_due, "the machine was too slow for the test"
    wait_for(lambda: time.time() * 1000 > last_due, "all deadlines are over")

    worker = cluster.start("only")
    cluster.drain()
    worker.end()
    facts = exact.check(cluster)
    kinds = ("answered", "fired", "late")
    by_kind = {kind: [f.id for f in facts if f.kind == kind] for kind in kinds}
    assert set(by_kind["answered"]) == in_time
    assert sorted(by_kind["fired"]) == sorted(set(waiting) - in_time)
    assert by_kind["late"] == []
    exact.check_stores(cluster, "only")
