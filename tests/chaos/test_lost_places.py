"""Topics, offsets and state directories that are not what they were when a worker ended."""

from __future__ import annotations

import random

import pytest

from streams.engine.accept_gap import accept_gap
from tests.chaos import exact
from tests.chaos.cluster import PARTITIONS, Cluster
from tests.chaos.workers import Worker
from tests.toy import FACTS, INPUT, ToyProcessor
from topology import processors

pytestmark = pytest.mark.slow


def decided(cluster: Cluster, dice: random.Random, count: int) -> None:
    """A worker that has decided so many records, and ended."""
    cluster.send_counts(count, dice)
    worker = cluster.start("only")
    cluster.drain()
    worker.end()


def drained(cluster: Cluster) -> Worker:
    worker = cluster.start("only")
    cluster.drain()
    worker.end()
    return worker


def test_a_store_of_topics_that_were_created_anew_is_rebuilt(
    cluster: Cluster, dice: random.Random
) -> None:
    decided(cluster, dice, 2000)
    cluster.forget()
    cluster.recreate()
    cluster.send_counts(4000, dice)  # more than before: no offset gives the new topics away
    worker = drained(cluster)
    assert worker.text().count("was created anew") == PARTITIONS
    exact.check(cluster)
    exact.check_stores(cluster, "only")


def test_an_input_that_was_created_anew_stops_the_worker_until_the_gap_is_accepted(
    cluster: Cluster, dice: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided(cluster, dice, 2000)
    before = {fact.id: fact.n for fact in cluster.facts()}
    decided_offsets = cluster.positions()
    old = len(cluster.tail(FACTS).records)
    cluster.recreate([INPUT])
    cluster.send_counts(3000, dice)
    stopped = cluster.start("only")
    assert stopped.exit_code() == 3
    assert "stopped: PositionsLost" in stopped.text()
    assert f"headrace topics accept-gap {cluster.prefix}toy.in" in stopped.text()
    assert len(cluster.facts()) == old

    monkeypatch.setattr(processors, "ALL", (ToyProcessor().declaration,))
    for partition in range(PARTITIONS):
        accept_gap(cluster.log, cluster.settings, cluster.prefix + INPUT.name, partition)
    drained(cluster)
    facts = cluster.facts()
    ends = cluster.log.ends(list(decided_offsets))
    assert len(facts) == old + sum(ends[tp] - offset for tp, offset in decided_offsets.items())
    assert old < len(facts) < old + 3000
    exact.check_table(cluster, facts)
    assert any(before.get(fact.id, 0) > 0 and fact.n > before[fact.id] for fact in facts)
    exact.check_stores(cluster, "only")


@pytest.mark.parametrize(("offsets", "state"), [("deleted", "kept"), ("at the end", "deleted")])
def test_the_offsets_of_the_group_do_not_matter(
    cluster: Cluster, dice: random.Random, offsets: str, state: str
) -> None:
    cluster.send_counts(10_000, dice)
    worker = cluster.start("only", BATCH="20")
    cluster.tail(FACTS).until(dice.randrange(1, 4000))
    worker.end()
    assert len(cluster.tail(FACTS).catch_up()) < 10_000
    cluster.send_counts(1000, dice)
    if offsets == "deleted":
        cluster.forget_group()
    else:
        cluster.group_to_end()
    if state == "deleted":
        cluster.delete_state("only")
    drained(cluster)
    exact.check(cluster)
    exact.check_stores(cluster, "only")
