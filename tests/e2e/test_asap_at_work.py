"""Workers of ASAP that are killed under traffic: what is left is exact all the same.

10,000 tasks with snapshots, told by three writers at once to two workers.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from streams.routes.handle import Routes
from streams.view_store.view import View
from tests.e2e import asap_check_views, asap_history, checker_asap
from tests.e2e.asap_fold import Fold
from tests.e2e.asap_history import AsapHistory
from tests.e2e.asap_traffic import Phases, Traffic, in_phases, lines
from tests.e2e.environment import Environment
from tests.e2e.pair import Pair, Writers
from topology.asap import (
    ASAP_ENVELOPES,
    ASAP_ENVELOPES_DLQ,
    ASAP_EVENTS,
    ASAP_LINKS,
    ASAP_MANIFESTS,
)

pytestmark = pytest.mark.slow

TASKS = 10_000
RICH = 480
"""Of them: those that go through all that the protocol has."""
FAMILIES = 48
KILLS = 6
WRITERS = 3
INPUTS = (ASAP_ENVELOPES, ASAP_LINKS, ASAP_MANIFESTS)
SETTINGS = {"BATCH": "200", "ASAP_CALL_TIMEOUT_SECONDS": "8"}
ASKED_FOR = 60
"""Tasks whose every version is asked for."""
RULES = frozenset(
    {
        *("task_created", "status_changed", "progress_noted", "state_saved", "response_recorded"),
        *("task_cancelled", "message_forwarded", "input_received", "state_read", "state_restored"),
        *("artifact_noted", "call_opened", "call_answered", "task_timeout", "call_timeout"),
        *("same_envelope", "same_idempotency_key", "id_conflict", "task_redirected"),
        *("version_mismatch", "bad_id", "bad_config", "missing_correlation"),
        *("key_mismatch", "partition_mismatch", "agent_not_found", "task_not_found"),
        *("not_participant", "wrong_recipient", "too_many_aliases", "task_already_terminal"),
        *("update_type_mismatch", "invalid_transition", "state_mode_conflict"),
        *("snapshot_not_found", "call_not_found", "call_closed", "correlation_mismatch"),
        "resource_mismatch",
    }
)


class Run(Pair):
    """Traffic for two workers."""

    def __init__(self, environment: Environment, dice: random.Random) -> None:
        super().__init__(environment, dice, ASAP_EVENTS, SETTINGS)
        self.traffic = Traffic(environment, dice)
        environment.send(self.traffic.manifests())
        self.start()

    def tell(self, stories: Sequence[Phases], writers: Writers) -> None:
        for phase in in_phases(stories):
            lines_records = [
                list(self.traffic.records(line)) for story in phase for line in lines(story)
            ]
            self.sent += writers.send(lines_records, self.dice)


def test_each_envelope_is_judged_once_and_no_version_is_lost_though_workers_are_killed(
    environment: Environment, dice: random.Random, tmp_path: Path
) -> None:
    with Writers(environment, WRITERS) as writers:
        run = Run(environment, dice)
        for _ in range(KILLS):
            stories = run.traffic.stories((TASKS - RICH) // KILLS, RICH // KILLS)
            run.tell(stories + run.traffic.families(FAMILIES // KILLS), writers)
            run.kill_amid()
        run.end((ASAP_EVENTS, ASAP_ENVELOPES_DLQ), INPUTS)
    history = asap_history.read(environment)
    fold = Fold(history)
    assert list(checker_asap.faults(history, fold)) == []
    assert len(fold.tasks) >= TASKS
    check_variety(history)
    check_queries(environment, fold, dice, tmp_path / "view")


def check_variety(history: AsapHistory) -> None:
    rules = Counter(fact["rule"] for fact in history.values(ASAP_EVENTS))
    assert RULES - rules.keys() == set(), rules
    assert history.of(ASAP_ENVELOPES_DLQ)


def check_queries(environment: Environment, fold: Fold, dice: random.Random, path: Path) -> None:
    """Of the tasks with the most events, and of any."""
    tasks = sorted(fold.tasks.values(), key=lambda task: task.states.last)
    sample = tasks[-ASKED_FOR // 2 :] + dice.sample(tasks, ASKED_FOR // 2)
    with View(environment.log, path, environment.prefix) as view:
        view.catch_up(30)
        settings = environment.settings
        routes = Routes(view, environment.log, settings, lambda: time.time_ns() // 1_000_000)
        assert list(asap_check_views.check(routes, sample)) == []
