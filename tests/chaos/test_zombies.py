"""A worker that sleeps past its session, and wakes when another one owns its tasks."""

from __future__ import annotations

import random
import time

import pytest

from tests.chaos import exact
from tests.chaos.cluster import PARTITIONS, Cluster, Tail
from tests.chaos.workers import Worker
from tests.processes import wait_for
from tests.toy import FACTS

REOPENED = "is closed and opens again"


def fenced_until_settled(owner: Worker, facts: Tail) -> int:
    """How often the owner had to open a task again, once 2,000 facts go by without one more.

    Each producer that was being fenced in when its process stopped can end its work after the
    zombie is back, so there is one round for each, and one that must be quiet.
    """
    for _ in range(PARTITIONS + 1):
        reopened = owner.text().count(REOPENED)
        facts.until(facts.poll() + 2000)
        if owner.text().count(REOPENED) == reopened:
            return reopened
    raise AssertionError("zombie and owner go on fencing each other")


@pytest.mark.parametrize(
    "when", ["while it decides", pytest.param("while it opens", marks=pytest.mark.slow)]
)
def test_a_zombie_that_wakes_leaves_the_new_owner_alone(
    cluster: Cluster, dice: random.Random, when: str
) -> None:
    facts = cluster.tail(FACTS)
    with cluster.trickle(dice):
        zombie = cluster.start("zombie")
        if when == "while it decides":
            zombie.wait_ready(*range(PARTITIONS))
            facts.until(facts.poll() + dice.randrange(1, 2000))
        else:
            zombie.wait_text("assigned [0, 1, 2, 3]")
            time.sleep(dice.random() / 3)
        zombie.stop()
        owner = cluster.start("owner")
        owner.wait_ready(*range(PARTITIONS))
        facts.until(facts.poll() + 1000)
        zombie.wake()
        length = len(zombie.text())
        wait_for(lambda: "ready: tasks" in zombie.text()[length:], "the zombie is back")
        owner.wait_ready()
        reopened = fenced_until_settled(owner, facts)
    cluster.drain()
    cluster.end_all()
    exact.check(cluster)
    # A producer that was being fenced in when its process stopped cannot be called back.
    assert reopened <= (0 if when == "while it decides" else 3 * PARTITIONS)
    assert "may have dropped tombstones" not in zombie.text()
