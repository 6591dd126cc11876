"""Bytes that nobody can read, and records that this version cannot decide."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from streams.engine.headers import CAUSE
from streams.engine.records import Output, header, position
from tests.chaos import exact
from tests.chaos.cluster import Cluster
from tests.toy import FACTS, INPUT
from topology.topics import dead_letters_of

pytestmark = pytest.mark.slow

DEAD = dead_letters_of(INPUT)


def dead_causes(cluster: Cluster) -> Counter[str]:
    """Positions of the inputs that became dead letters."""
    return Counter((header(r, CAUSE) or b"").decode() for r in cluster.tail(DEAD).catch_up())


def test_any_number_of_undecodable_records_does_not_stop_a_worker(
    cluster: Cluster, dice: random.Random
) -> None:
    name = cluster.prefix + INPUT.name
    values = [dice.randbytes(dice.randrange(60)) for _ in range(3000)]
    bad = cluster.log.append([Output(name, b"k%d" % i, v) for i, v in enumerate(values)])
    worker = cluster.start("only", BATCH="200")
    cluster.drain()
    assert worker.running
    cluster.send_counts(500, dice)
    cluster.drain()
    worker.end()
    assert dead_causes(cluster) == Counter(position(record) for record in bad)
    sent_values = {position(b): b.value for b in bad}
    assert all(
        record.value == sent_values[(header(record, CAUSE) or b"").decode()]
        for record in cluster.tail(DEAD).records
    )
    exact.check(cluster)


def test_a_version_that_fails_for_all_records_stops_and_a_better_one_decides_them(
    cluster: Cluster, dice: random.Random
) -> None:
    cluster.send_counts(1000, dice)
    worker = cluster.start("only", BATCH="200")
    cluster.drain()
    worker.end()
    before = cluster.positions()
    cluster.send([cluster.record(f"k{dice.randrange(500)}", poison=1) for _ in range(2000)])
    failing = cluster.start("only", BATCH="200")
    assert failing.exit_code() == 3
    assert "stopped: TooManyDeadLetters" in failing.text()
    assert "cannot be decided" in failing.text()
    assert len(cluster.facts()) == 1000
    dead = dead_causes(cluster)
    advance = sum(offset - before[tp] for tp, offset in cluster.positions().items())
    assert advance == dead.total() <= 4 * 20  # what came one by one before it was plain

    fixed = cluster.start("only", "tolerant", BATCH="200")
    cluster.drain()
    fixed.end()
    assert dead_causes(cluster) == dead
    cluster.sent = [record for record in cluster.sent if position(record) not in dead]
    exact.check(cluster)
    assert len(cluster.tail(FACTS).records) == 3000 - dead.total()
