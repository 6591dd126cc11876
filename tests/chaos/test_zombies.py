"""A worker that sleeps past its session, and wakes when another one owns its tasks."""

from __future__ import annotations

import random

import pytest

from tests.chaos import exact
from tests.chaos.cluster import PARTITIONS, Cluster
from tests.chaos.workers import SESSION_TIMEOUT_S
from tests.toy import FACTS


@pytest.mark.parametrize("when", ["while it decides", "while it opens"])
def test_a_zombie_that_wakes_leaves_the_new_owner_alone(
    cluster: Cluster, dice: random.Random, when: str
) -> None:
    cluster.send_counts(12_000, dice)
    facts = cluster.tail(FACTS)
    zombie = cluster.start("zombie")
    if when == "while it decides":
        facts.until(dice.randrange(1, 4000))
    else:
        zombie.wait_text("assigned [0, 1, 2, 3]")
    zombie.stop()
    owner = cluster.start("owner")
    owner.wait_ready(*range(PARTITIONS))
    cluster.drain()
    cluster.send_counts(4000, dice)
    facts.until(facts.poll() + 100)
    zombie.wake()
    facts.until(facts.poll() + 100)
    zombie.wait_text("assigned", SESSION_TIMEOUT_S)
    cluster.send_counts(4000, dice)
    zombie.wait_ready(*(zombie.ready() or ()))
    cluster.drain()
    cluster.end_all()
    exact.check(cluster)
    assert "taken the task over" not in owner.text()
    assert "opens again" not in owner.text()
