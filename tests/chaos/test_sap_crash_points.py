"""A worker that keeps a copy of the SAP cache dies at each of its points, and answers once."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from streams.engine.crash_points import POINTS
from streams.engine.records import Output
from tests.chaos.test_crash_points import AS_TASKS_LEAVE, OF_A_CYCLE, times
from tests.e2e import checker_sap, sap_history
from tests.e2e.environment import Environment, Worker
from tests.e2e.outputs import Json
from tests.e2e.sap_history import SapHistory
from tests.e2e.sap_site import Site
from tests.e2e.sap_traffic import Traffic, plain_task
from tests.processes import wait_for
from topology.sap import SAP_ACKS, SAP_OUTCOMES, SAP_TASKS, SAP_VERDICTS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

DOCUMENTS = 12
BURST = 60
WITHOUT_TIMERS = tuple(point for point in POINTS if not point.endswith("-fire"))
"""A task that is answered when it is accepted sets no timer."""
Burst = Callable[[], list[Output]]


class Crashes:
    """A worker with a copy of the cache that is started again after each death."""

    def __init__(self, site: Site, dice: random.Random, first: list[Output]) -> None:
        """Decide the first tasks, so that there is something to restore."""
        self._site, self._dice = site, dice
        worker = self.start("only", "--static")
        site.environment.send(first)
        site.drain()
        worker.end()

    def start(self, name: str, *arguments: str, **settings: str) -> Worker:
        settings = {"BATCH": "20", "SAP_CACHE_COPY": "true", **settings}
        return self._site.start(name, *arguments, **settings)

    def die_at(self, point: str, burst: Burst) -> None:
        """Let the worker die at a point amid traffic, sometimes with its state lost."""
        environment, crash_at = self._site.environment, f"{point}:{times(point, self._dice)}"
        print(f"dies at {crash_at}")
        if point not in OF_A_CYCLE or self._dice.random() < 0.3:
            self._site.empty("only")
        worker = self.start("only", "--static", CRASH_AT=crash_at)
        others = []
        if point in AS_TASKS_LEAVE:  # for them, when another worker comes
            worker.wait_ready()
            others.append(self.start("other"))

        def ended() -> bool:
            before = environment.tail(SAP_ACKS).poll()
            sent = burst()
            environment.send(sent)

            def has_decided_some() -> bool:
                acks = environment.tail(SAP_ACKS).poll()
                return not worker.running or acks >= before + len(sent) // 2

            wait_for(has_decided_some, f"verdicts before {crash_at}", look_s=0.05)
            return not worker.running

        wait_for(ended, f"the end at {crash_at}", look_s=0)
        assert worker.exit_code() == -signal.SIGKILL, worker.text()[-3000:]
        for other in others:
            other.end()

    def final_history(self) -> SapHistory:
        """Let a worker finish all work; return everything, which `headrace verify` has checked."""
        worker = self.start("only", "--static")
        self._site.drain()
        worker.end()
        self._site.environment.verify()
        history = sap_history.read(self._site.environment)
        assert checker_sap.check(history) == []
        return history


@pytest.fixture
def environment(broker: str, tmp_path: Path) -> Iterator[Environment]:
    with Environment(broker, tmp_path) as environment:
        yield environment


def now_ms() -> int:
    return int(time.time() * 1000)


class CachedTasks:
    """Tasks that only the cache may answer, or that fill it."""

    def __init__(self, environment: Environment, dice: random.Random) -> None:
        self._environment, self._dice = environment, dice
        self.sent: list[Json] = []

    def records(self, documents: Sequence[int], mode: str) -> list[Output]:
        first = len(self.sent) + 1
        self.sent += [
            plain_task(number, document, now_ms(), mode=mode)
            for number, document in enumerate(documents, first)
        ]
        return [self._environment.record(SAP_TASKS, task) for task in self.sent[first - 1 :]]

    def burst(self) -> list[Output]:
        return self.records(self._dice.choices(range(DOCUMENTS), k=BURST), "only")


def test_each_task_gets_one_cached_answer_at_each_crash_point(
    environment: Environment, dice: random.Random
) -> None:
    site, tasks = Site(environment, 1), CachedTasks(environment, dice)
    with site.agents:
        crashes = Crashes(site, dice, tasks.records(range(DOCUMENTS), "prefer"))
        for point in WITHOUT_TIMERS:
            crashes.die_at(point, tasks.burst)
        history = crashes.final_history()
    only = {task["taskId"] for task in tasks.sent[DOCUMENTS:]}
    hits = [one for one in history.values(SAP_VERDICTS) if one["verdict"] == "hit"]
    assert Counter(one["taskId"] for one in hits) == Counter(only)
    assert len(sap_history.admissions(history)) == len(only)
    outcomes = [one for one in history.values(SAP_OUTCOMES) if one["taskId"] in only]
    assert Counter(one["taskId"] for one in outcomes) == Counter(only)
    assert {one["meta"]["headrace"]["rule"] for one in outcomes} == {"cache_hit"}


def test_tasks_of_all_kinds_have_one_end_at_each_crash_point(
    environment: Environment, dice: random.Random
) -> None:
    site, traffic = Site(environment, dice.randrange(1000)), Traffic(environment, dice)

    def burst() -> list[Output]:
        records = traffic.burst(BURST, now_ms()) + traffic.comments(BURST // 6)
        dice.shuffle(records)
        return records

    with site.agents:
        crashes = Crashes(site, dice, burst())
        for point in POINTS:
            crashes.die_at(point, burst)
        history = crashes.final_history()
    assert len(sap_history.admissions(history)) > len(POINTS)
