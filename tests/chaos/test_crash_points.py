"""A worker dies at each of its named points, in turn, beside another one, and nothing is lost."""

from __future__ import annotations

import random
import signal

import pytest

from streams.engine.crash_points import POINTS
from tests.chaos import exact
from tests.chaos.cluster import PARTITIONS, Cluster
from tests.processes import wait_for
from tests.toy import FACTS

_AS_TASKS_OPEN = {"before-fence", "after-fence", "before-restore", "in-restore", "after-restore"}
_AS_TASKS_OPEN |= {"after-positions", "before-seek"}
_AS_TASKS_LEAVE = {"before-revoke", "after-revoke", "before-close", "after-close"}
_FEW = PARTITIONS // 2


def times(point: str, dice: random.Random) -> int:
    """Which passing it dies at: any that is sure to come."""
    if point in _AS_TASKS_OPEN | _AS_TASKS_LEAVE:
        return dice.randint(1, _FEW)
    return 1 if point == "after-fire" else dice.randint(1, 30)


@pytest.mark.parametrize("point", POINTS)
def test_nothing_is_lost_or_doubled(cluster: Cluster, dice: random.Random, point: str) -> None:
    timed = {f"t{i}" for i in range(40)}
    records = [cluster.record(f"k{dice.randrange(200)}") for _ in range(2000)]
    records += [cluster.record(ident, timer=dice.randrange(1, 400)) for ident in sorted(timed)]
    dice.shuffle(records)
    cluster.send(records)
    facts = cluster.tail(FACTS)
    if point in _AS_TASKS_OPEN:  # with something to restore
        before = cluster.start("victim", "static", BATCH="20")
        facts.until(dice.randrange(200, 1000))
        before.kill()
        cluster.delete_state("victim")
    crash_at = f"{point}:{times(point, dice)}"
    victim = cluster.start("victim", "static", BATCH="20", CRASH_AT=crash_at)
    if point in _AS_TASKS_LEAVE:
        victim.wait_ready(*range(PARTITIONS))
    other = cluster.start("other", BATCH="20")

    def ended() -> bool:
        """Not for want of records or timers, whichever tasks it was given."""
        ident = f"t{len(timed)}"
        timed.add(ident)
        cluster.send([cluster.record(ident, timer=dice.randrange(1, 400))])
        cluster.send_counts(20, dice)
        return not victim.running

    wait_for(ended, f"the end at {crash_at}", look_s=0.05)
    assert victim.exit_code() == -signal.SIGKILL
    victim = cluster.start("victim", "static", BATCH="20")
    other.wait_ready()
    cluster.drain()
    other.end()
    victim.wait_ready(*range(PARTITIONS))
    cluster.send_counts(200, dice)
    cluster.drain()
    victim.end()
    found = exact.check(cluster)
    assert {fact.id for fact in found if fact.kind == "fired"} == timed
    exact.check_stores(cluster, "victim")
