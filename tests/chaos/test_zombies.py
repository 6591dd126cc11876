"""A worker that sleeps past its session, and wakes when another one owns its tasks."""

from __future__ import annotations

import random
import time

import pytest

from tests.chaos import exact
from tests.chaos.cluster import PARTITIONS, Cluster
from tests.processes import wait_for
from tests.toy import FACTS

REOPENED = "is closed and opens again"


@pytest.mark.parametrize("when", ["while it decides", "while it opens"])
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
        said = len(zombie.text())
        wait_for(lambda: "ready: tasks" in zombie.text()[said:], "the zombie is back")
        owner.wait_ready()
        reopened = owner.text().count(REOPENED)
        facts.until(facts.poll() + 2000)
        assert owner.text().count(REOPENED) == reopened, "the owner is not fenced again"
    cluster.drain()
    cluster.end_all()
    exact.check(cluster)
    # A producer that was being fenced in when its process stopped cannot be called back.
    assert reopened <= (0 if when == "while it decides" else 3 * PARTITIONS)
    assert "may have dropped tombstones" not in zombie.text()
