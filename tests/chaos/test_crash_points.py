"""A worker dies at each of its named points, in turn, beside another one, and nothing is lost."""

from __future__ import annotations

import random
import re
import signal

import pytest

from streams.engine.crash_points import POINTS
from streams.engine.records import TopicPartition
from tests.chaos import exact
from tests.chaos.cluster import PARTITIONS, Cluster
from tests.chaos.workers import Worker
from tests.processes import wait_for
from tests.toy import FACTS
from topology.core import CHANGELOG
from topology.declarations import Topic

AS_TASKS_OPEN = {"before-fence", "after-fence", "before-restore", "in-restore", "after-restore"}
AS_TASKS_OPEN |= {"after-positions", "before-seek"}
AS_TASKS_LEAVE = {"before-revoke", "after-revoke", "before-close", "after-close"}
OF_A_CYCLE = tuple(name for name in POINTS if name not in AS_TASKS_OPEN | AS_TASKS_LEAVE)
"""Those that a task passes again and again while it runs."""
_FEW = PARTITIONS // 2
QUICK = ("before-commit", "after-restore")
"""The points of the quick run: one of a cycle, one of a task that opens."""
SLOW = pytest.mark.slow
_ASSIGNED = re.compile(r"assigned \[([0-9, ]+)\], kept")


def times(point: str, dice: random.Random) -> int:
    """Which passing it dies at: any that is sure to come."""
    if point in AS_TASKS_OPEN | AS_TASKS_LEAVE:
        return dice.randint(1, _FEW)
    if point == "in-produce":  # anywhere in one of some forty records
        return dice.randint(1, 500)
    if point.endswith("-offsets"):  # once a second
        return dice.randint(1, 2)
    return 1 if point.endswith("-fire") else dice.randint(1, 30)


def has_a_share(worker: Worker) -> bool:
    """Whether it was ever given some of the tasks, and another worker the rest."""
    counts = [len(numbers.split(",")) for numbers in _ASSIGNED.findall(worker.text())]
    return any(count < PARTITIONS for count in counts)


def start_both(cluster: Cluster, point: str, crash_at: str) -> tuple[Worker, Worker]:
    """The one that is to die, and another one.  Where a running task is struck, it is one that a
    rebalance has moved.
    """
    if point in OF_A_CYCLE:
        other = cluster.start("other", BATCH="20")
        other.wait_ready(*range(PARTITIONS))
        victim = cluster.start("victim", "static", BATCH="20", CRASH_AT=crash_at)
        wait_for(lambda: has_a_share(victim), "a rebalance")
        return victim, other
    victim = cluster.start("victim", "static", BATCH="20", CRASH_AT=crash_at)
    if point in AS_TASKS_LEAVE:
        victim.wait_ready(*range(PARTITIONS))
    return victim, cluster.start("other", BATCH="20")


def decided_by_all(cluster: Cluster, count: int) -> None:
    """Wait for so many facts, of every task some."""
    facts = cluster.tail(FACTS)
    facts.until(count)

    def every() -> bool:
        facts.poll()
        return len({record.partition for record in facts.records}) == PARTITIONS

    wait_for(every, "facts of every task", look_s=0.01)


@pytest.mark.parametrize(
    "point", [*QUICK, *(pytest.param(p, marks=SLOW) for p in POINTS if p not in QUICK)]
)
def test_nothing_is_lost_or_doubled(cluster: Cluster, dice: random.Random, point: str) -> None:
    timed = {f"t{i}" for i in range(40)}
    records = [cluster.record(f"k{dice.randrange(200)}") for _ in range(2000)]
    records += [cluster.record(ident, timer=dice.randrange(1, 400)) for ident in sorted(timed)]
    dice.shuffle(records)
    crash_at = f"{point}:{times(point, dice)}"
    if point in OF_A_CYCLE:  # after the rebalance, or the other one would have done it all
        victim, other = start_both(cluster, point, crash_at)
        cluster.send(records)
    else:
        cluster.send(records)
        if point in AS_TASKS_OPEN:  # with something to restore
            before = cluster.start("victim", "static", BATCH="20")
            decided_by_all(cluster, dice.randrange(200, 1000))
            before.kill()
            cluster.delete_state("victim")
        victim, other = start_both(cluster, point, crash_at)

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
    facts = exact.check(cluster)
    assert {fact.id for fact in facts if fact.kind == "fired"} == timed
    exact.check_stores(cluster, "victim")


def uncommitted(cluster: Cluster, topic: Topic) -> set[int]:
    """The partitions of a topic that end in records of a transaction which is open."""
    tps = [TopicPartition(cluster.prefix + topic.name, p) for p in range(PARTITIONS)]
    stable, written = cluster.log.ends(tps), cluster.log.high_watermarks(tps)
    return {tp.partition for tp in tps if stable[tp] < written[tp]}


@pytest.mark.slow
@pytest.mark.parametrize(("crash_at", "whole"), [("in-produce:3", False), ("before-commit", True)])
def test_a_transaction_is_on_the_log_in_part_or_as_a_whole(
    cluster: Cluster, dice: random.Random, crash_at: str, whole: bool
) -> None:
    """Facts come first in it, and positions last."""
    cluster.send_counts(2000, dice)
    dead = cluster.start("only", "static", BATCH="20", CRASH_AT=crash_at)
    assert dead.exit_code() == -signal.SIGKILL
    facts, positions = uncommitted(cluster, FACTS), uncommitted(cluster, CHANGELOG)
    assert facts & positions if whole else facts - positions
    only = cluster.start("only", "static")
    cluster.drain()
    only.end()
    exact.check(cluster)
    exact.check_stores(cluster, "only")
