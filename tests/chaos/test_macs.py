"""Rows that somebody forges beside workers that are killed and lose their state."""

from __future__ import annotations

import random

import pytest

from schemas import encode
from streams.engine.record_mac import mac_header
from streams.engine.records import Output
from tests.chaos import exact
from tests.chaos.cluster import PARTITIONS, Cluster
from tests.toy import FACTS, RECORD, ROWS
from topology.core import CHANGELOG

KEY = "0123456789abcdef0123456789abcdef"
NEW_KEY = "fedcba9876543210fedcba9876543210"
pytestmark = pytest.mark.slow


def forge(cluster: Cluster, dice: random.Random) -> None:
    """Append copies of genuine rows, changed ones, and some of nobody's, to every partition."""
    rows = cluster.tail(ROWS).catch_up()
    forged = encode(RECORD, {"data": {"n": "900000"}})
    outputs = [
        Output(each.topic, each.key, value, headers, each.partition)
        for each in dice.sample(rows, min(200, len(rows)))
        for value, headers in (
            (each.value, each.headers),
            (forged, each.headers),
            (forged, ()),
            (None, ()),
        )
    ]
    name = cluster.prefix + CHANGELOG.name
    outputs += [Output(name, f"toy-open\0x{n}".encode(), forged, (), n) for n in range(PARTITIONS)]
    cluster.log.append(outputs)


def test_forged_rows_never_count_though_workers_are_killed_and_lose_their_state(
    cluster: Cluster, dice: random.Random
) -> None:
    count, keys = 12_000, (KEY, KEY, f"{NEW_KEY},{KEY}", f"{NEW_KEY},{KEY}")
    timed = {f"t{i}" for i in range(count // 50)}
    records = [cluster.record(f"k{dice.randrange(500)}") for _ in range(count - len(timed))]
    records += [cluster.record(ident, timer=dice.randrange(1, 2000)) for ident in sorted(timed)]
    dice.shuffle(records)
    cluster.send(records)
    facts = cluster.tail(FACTS)
    for number, key in enumerate(keys, 1):
        worker = cluster.start("only", "static", BATCH="50", MAC_KEY=key)
        facts.until(dice.randrange((number - 1) * count // 5 + 1, number * count // 5))
        worker.kill()
        forge(cluster, dice)
        cluster.delete_state("only")
    worker = cluster.start("only", "static", MAC_KEY=f"{NEW_KEY},{KEY}")
    cluster.drain()
    worker.end()
    assert "are refused" in worker.text()
    decided = exact.check_facts(cluster, cluster.facts())
    exact.check_counts(decided)
    assert {fact.id for fact in decided if fact.kind == "fired"} == timed
    assert all(mac_header(record.headers) for record in cluster.tail(FACTS).catch_up())


def test_a_worker_without_the_key_keeps_its_tasks_closed_and_goes_on_with_it(
    cluster: Cluster, dice: random.Random
) -> None:
    cluster.send_counts(500, dice)
    worker = cluster.start("only", "static", MAC_KEY=KEY)
    cluster.drain()
    worker.end()
    cluster.send_counts(500, dice)
    other = cluster.start("only", "static")
    other.wait_text("have MACs")
    other.kill()
    cluster.start("only", "static", MAC_KEY=KEY)
    cluster.drain()
    exact.check(cluster)
