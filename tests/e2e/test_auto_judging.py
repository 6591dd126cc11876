"""Workers that are killed while the service calls critics: each run is judged once."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial

import pytest

from streams.protocols.summit.processor.judging import judge_run_id
from tests.e2e.environment import Environment
from tests.e2e.outputs import PARTITIONS
from tests.unit.protocols.summit.queries.stage import AGENT, invoke, result
from tests.unit.protocols.summit.queries.test_judging import CRITIC, PASSED, critic, with_critic
from topology.summit import (
    SUMMIT_AUTO_CALLS,
    SUMMIT_CALLS,
    SUMMIT_EVENTS,
    SUMMIT_MANIFESTS,
    SUMMIT_REPLIES,
    SUMMIT_RUNS,
)

pytestmark = pytest.mark.slow

RUNS = 200
KILLS = 3
NAMES = [f"run-{number}" for number in range(RUNS)]


def reached(environment: Environment, count: int) -> bool:
    """Whether there are that many events of Summit."""
    return environment.count(SUMMIT_EVENTS) >= count


def test_a_kill_makes_no_second_call_of_a_critic(
    environment: Environment, dice: random.Random
) -> None:
    worker = environment.start("only", BATCH="10")
    worker.wait_ready(*environment.numbers)
    environment.send([environment.record(SUMMIT_MANIFESTS, m) for m in (with_critic(), critic())])
    environment.until(lambda: environment.count(SUMMIT_EVENTS) >= 2, "both are registered")
    calls = [environment.record(SUMMIT_CALLS, invoke(name, AGENT)) for name in NAMES]
    replies = [environment.record(SUMMIT_REPLIES, result(name)) for name in NAMES]
    judges = [judge_run_id(name, PARTITIONS) for name in NAMES]
    environment.send(calls)
    environment.until(lambda: environment.count(SUMMIT_EVENTS) >= 2 + RUNS, "calls")
    environment.send(replies)
    accepted = 2 + 3 * RUNS
    for count in sorted(dice.sample(range(2 + RUNS, accepted), KILLS)):
        environment.until(partial(reached, environment, count), "the next kill is due")
        worker.kill()
        worker = environment.start("only", BATCH="10")
        worker.wait_ready(*environment.numbers)
    environment.until(lambda: environment.count(SUMMIT_EVENTS) >= accepted, "critics are called")
    answers = [result(name, PASSED, agent=CRITIC) for name in judges]
    environment.send([environment.record(SUMMIT_REPLIES, answer) for answer in answers])
    worker.kill()
    worker = environment.start("only", BATCH="10")
    worker.wait_ready(*environment.numbers)
    environment.until(lambda: environment.count(SUMMIT_EVENTS) >= accepted + 2 * RUNS, "judged")
    worker.end()
    called = [value["params"]["runId"] for value in environment.values(SUMMIT_AUTO_CALLS)]
    assert Counter(called) == Counter(judges)
    events = environment.values(SUMMIT_EVENTS)
    recorded = Counter(e["runId"] for e in events if e["rule"] == "judge.recorded")
    assert recorded == Counter(NAMES)
    rows = {row["runId"]: row for row in environment.values(SUMMIT_RUNS)}
    assert {rows[name]["verificationStatus"] for name in NAMES} == {"passed"}
    assert len(rows) == 2 * RUNS
    environment.verify()
