"""Workers of Summit that are killed under traffic: what is left is exact all the same.

3,600 runs of all kinds, told by three writers at once to two workers, while agents come and go.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from streams.engine.headers import CAUSE
from streams.engine.records import header, position
from tests.e2e import checker_summit, summit_history
from tests.e2e.asap_traffic import in_phases
from tests.e2e.environment import Environment
from tests.e2e.pair import Pair, Writers
from tests.e2e.summit_fold import Fold
from tests.e2e.summit_traffic import Phases, Traffic
from tests.e2e.summit_variety import check_variety
from tests.processes import wait_for
from topology.summit import (
    SUMMIT_CALLS,
    SUMMIT_CALLS_DLQ,
    SUMMIT_EVENTS,
    SUMMIT_MANIFESTS,
    SUMMIT_MANIFESTS_DLQ,
    SUMMIT_REPLIES,
    SUMMIT_REPLIES_DLQ,
)

pytestmark = pytest.mark.slow

RUNS = 3_600
RICH = 900
"""Of them: those that go through all that the protocol has."""
KILLS = 5
WRITERS = 3
TIMEOUT_S = 6
INPUTS = (SUMMIT_MANIFESTS, SUMMIT_CALLS, SUMMIT_REPLIES)
ANSWERS = (SUMMIT_EVENTS, SUMMIT_CALLS_DLQ, SUMMIT_REPLIES_DLQ, SUMMIT_MANIFESTS_DLQ)
SETTINGS = {"BATCH": "200", "SUMMIT_RUN_TIMEOUT_S": str(TIMEOUT_S)}
ASKED_FOR = 3
"""Runs whose evidence is verified by command."""


class Run(Pair):
    """Traffic for two workers; its sender waits for some changes of agents."""

    def __init__(self, environment: Environment, dice: random.Random) -> None:
        super().__init__(environment, dice, SUMMIT_EVENTS, SETTINGS)
        self.traffic = Traffic(environment, dice)
        self._first = True
        self.start()

    def register(self) -> None:
        manifests = self.traffic.manifests
        changes = manifests.first() if self._first else manifests.changes()
        records = self.environment.log.append(changes)
        self._first = False
        self.sent += len(records)
        tail = self.environment.tail(SUMMIT_EVENTS)
        expected = {position(record).encode() for record in records}
        seen = 0

        def readable() -> bool:
            nonlocal seen
            tail.poll()
            expected.difference_update(header(record, CAUSE) for record in tail.records[seen:])
            seen = len(tail.records)
            return not expected

        wait_for(readable, "verdicts on manifests", 120, 0)
        manifests.noted(records)

    def tell(self, stories: Sequence[Phases], writers: Writers) -> None:
        for phase in in_phases(stories):
            batches = [list(self.traffic.records(story_messages)) for story_messages in phase]
            self.sent += writers.send([*batches, self.traffic.manifests.churn()], self.dice)


def test_each_record_is_judged_once_and_no_run_is_lost_though_workers_are_killed(
    environment: Environment, dice: random.Random
) -> None:
    with Writers(environment, WRITERS) as writers:
        run = Run(environment, dice)
        for _ in range(KILLS):
            run.register()
            stories = run.traffic.stories((RUNS - RICH) // KILLS + 1, RICH // KILLS)
            run.tell(stories, writers)
            run.kill_amid()
        run.end(ANSWERS, INPUTS)
    history = summit_history.read(environment)
    fold = Fold(history, TIMEOUT_S)
    assert list(checker_summit.faults(history, fold)) == []
    check_variety(history)
    ended = [id for id, run in fold.runs.items() if run.row["state"] == "completed"]
    for id in dice.sample(ended, ASKED_FOR):
        environment.headrace("summit-verify", id)
