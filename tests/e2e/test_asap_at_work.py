"""Workers of ASAP that are killed under traffic: what is left is exact all the same.

10,000 tasks with snapshots, told by three writers at once to two workers.
"""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from streams.engine.kafka import KafkaLog
from streams.engine.records import Output
from streams.engine.task import group_of
from streams.routes import Routes
from streams.views import View
from tests.e2e import asap_check_views, asap_history, checker_asap
from tests.e2e.asap_fold import Fold
from tests.e2e.asap_history import AsapHistory
from tests.e2e.asap_traffic import Phases, Traffic, in_phases, lines
from tests.e2e.environment import Environment, Worker
from tests.processes import wait_for
from topology.topics import (
    ASAP_ENVELOPES,
    ASAP_ENVELOPES_DLQ,
    ASAP_EVENTS,
    ASAP_LINKS,
    ASAP_MANIFESTS,
)

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


class Writers:
    """Several producers that write at the same time."""

    def __init__(self, environment: Environment) -> None:
        self._stack = ExitStack()
        self._pool = self._stack.enter_context(ThreadPoolExecutor(WRITERS))
        settings = environment.settings
        self._logs: list[KafkaLog] = []
        for _ in range(WRITERS):
            log = KafkaLog(settings.bootstrap or "", {}, group_of(settings))
            self._stack.callback(log.close)
            self._logs.append(log)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def send(self, lines: Sequence[Sequence[Output]], dice: random.Random) -> None:
        """Each line by any of the writers."""
        shares: list[list[Output]] = [[] for _ in self._logs]
        for line in lines:
            dice.choice(shares).extend(line)
        dealt = zip(self._logs, shares, strict=True)
        for sending in [self._pool.submit(log.append, share) for log, share in dealt]:
            sending.result()


class Run:
    """Two workers, one of which dies amid each batch."""

    def __init__(self, environment: Environment, dice: random.Random) -> None:
        self._environment, self._dice = environment, dice
        self.traffic = Traffic(environment, dice)
        self._sent = 0
        environment.send(self.traffic.manifests())
        self._workers = {name: self._start(name) for name in ("first", "second")}
        self._workers["first"].wait_ready()

    def _start(self, name: str) -> Worker:
        arguments = ("--static",) if name == "first" else ()
        return self._environment.start(name, *arguments, **SETTINGS)

    def tell(self, stories: Sequence[Phases], writers: Writers) -> None:
        for phase in in_phases(stories):
            told = [list(self.traffic.records(line)) for said in phase for line in lines(said)]
            writers.send(told, self._dice)
            self._sent += sum(map(len, told))

    def kill_amid(self) -> None:
        """Amid the facts to come; more often the one whose place is kept for it, and sometimes
        with all that it had on disk.
        """
        tail = self._environment.tail(ASAP_EVENTS)
        seen = tail.poll()
        tail.until(seen + self._dice.randrange(max(1, (self._sent - seen) // 2)))
        time.sleep(self._dice.random() / 20)
        name = self._dice.choice(("first", "first", "second"))
        self._workers[name].kill()
        if self._dice.random() < 0.3:
            shutil.rmtree(self._environment.directory / name, ignore_errors=True)
        self._workers[name] = self._start(name)

    def end(self) -> None:
        tails = [self._environment.tail(topic) for topic in (ASAP_EVENTS, ASAP_ENVELOPES_DLQ)]
        wait_for(lambda: sum(tail.poll() for tail in tails) >= self._sent, "decided", 300, 0)
        self._environment.drain(60, INPUTS)
        for worker in self._workers.values():
            worker.wait_ready()
            worker.end()


def test_each_envelope_is_judged_once_and_no_version_is_lost_though_workers_are_killed(
    environment: Environment, dice: random.Random, tmp_path: Path
) -> None:
    with Writers(environment) as writers:
        run = Run(environment, dice)
        for _ in range(KILLS):
            told = run.traffic.stories((TASKS - RICH) // KILLS, RICH // KILLS)
            run.tell(told + run.traffic.families(FAMILIES // KILLS), writers)
            run.kill_amid()
        run.end()
    found = asap_history.read(environment)
    fold = Fold(found)
    assert list(checker_asap.faults(found, fold)) == []
    assert len(fold.tasks) >= TASKS
    check_variety(found)
    check_queries(environment, fold, dice, tmp_path / "view")


def check_variety(found: AsapHistory) -> None:
    rules = Counter(fact["rule"] for fact in found.values(ASAP_EVENTS))
    assert RULES - rules.keys() == set(), rules
    assert found.of(ASAP_ENVELOPES_DLQ)


def check_queries(environment: Environment, fold: Fold, dice: random.Random, path: Path) -> None:
    """Of the tasks with the most events, and of any."""
    tasks = sorted(fold.tasks.values(), key=lambda task: task.states.last)
    asked = tasks[-ASKED_FOR // 2 :] + dice.sample(tasks, ASKED_FOR // 2)
    with View(environment.log, path, environment.prefix) as view:
        view.catch_up(30)
        settings = environment.settings
        routes = Routes(view, environment.log, settings, lambda: time.time_ns() // 1_000_000)
        assert list(asap_check_views.check(routes, asked)) == []
