"""The clock of a worker is set wrong, and right again: timers go by the log's time, and deadlines
too.  (Beyond an hour ahead Kafka refuses all that the worker writes: it waits until it is right.)
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.chaos import exact
from tests.chaos.cluster import PARTITIONS, Cluster, Fact
from tests.chaos.stepping import SteppingClock
from tests.processes import wait_for
from tests.toy import FACTS

pytestmark = pytest.mark.slow

HOUR = 3600
FAR_MS = 1_200_000
"""A deadline that a run does not reach."""


def ids(facts: Sequence[Fact], kind: str) -> list[str]:
    return sorted(fact.id for fact in facts if fact.kind == kind)


@pytest.mark.parametrize("hours", [0.5, -3.0, -24.0])
def test_deadlines_hold_though_the_clock_is_set_and_set_back(
    cluster: Cluster, tmp_path: Path, dice: random.Random, hours: float
) -> None:
    clock = SteppingClock(tmp_path)
    waiting, soon = sorted(f"t{n}" for n in range(100)), sorted(f"s{n}" for n in range(200))
    worker = cluster.start("only", before=clock.command())
    worker.wait_ready(*range(PARTITIONS))
    facts = cluster.tail(FACTS)

    def fired() -> list[str]:
        return ids(cluster.facts(), "fired")

    with cluster.trickle(dice):
        cluster.send([cluster.record(ident, timer=FAR_MS) for ident in waiting])
        facts.until(facts.poll() + 500)
        clock.step(int(hours * HOUR))
        facts.until(facts.poll() + 2000)
        cluster.send([cluster.record(ident, timer=dice.randrange(2000)) for ident in soon[:100]])
        wait_for(lambda: fired() == soon[:100], "timers fire by the time of the log", 90.0, 0.5)
        cluster.send([cluster.record(ident, answer="yes") for ident in waiting])
        facts.until(facts.poll() + 1000)
        clock.step(0)
        cluster.send([cluster.record(ident, timer=dice.randrange(2000)) for ident in soon[100:]])
        wait_for(lambda: len(fired()) == len(soon), "they do so afterwards", 90.0, 0.5)
    cluster.drain()
    assert worker.running
    worker.end()
    all_facts = exact.check(cluster)
    assert ids(all_facts, "fired") == soon
    assert ids(all_facts, "answered") == waiting
    assert ids(all_facts, "late") == []
    exact.check_stores(cluster, "only")


def test_a_clock_that_is_hours_ahead_loses_nothing(
    cluster: Cluster, tmp_path: Path, dice: random.Random
) -> None:
    clock = SteppingClock(tmp_path)
    waiting = sorted(f"t{n}" for n in range(100))
    worker = cluster.start("only", before=clock.command())
    facts = cluster.tail(FACTS)
    cluster.send([cluster.record(ident, timer=FAR_MS) for ident in waiting])
    facts.until(len(waiting))
    clock.step(3 * HOUR)
    cluster.send_counts(2000, dice)
    worker.wait_text("Invalid timestamp")
    cluster.send([cluster.record(ident, answer="yes") for ident in waiting])
    clock.step(0)
    if not worker.running:  # it gives up at some time, and whoever watches it starts it again
        worker = cluster.start("only")
    cluster.drain()
    worker.end()
    all_facts = exact.check(cluster)
    assert ids(all_facts, "answered") == waiting
    assert ids(all_facts, "fired") == ids(all_facts, "late") == []
    exact.check_stores(cluster, "only")
