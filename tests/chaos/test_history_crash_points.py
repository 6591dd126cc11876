"""One history of all five protocols, in which workers die at their points.

`tests.chaos.test_crash_points` kills at each of them in turn; here are others in each run, or all
of them: `pytest tests/chaos/test_history_crash_points.py --each-point`.
"""

from __future__ import annotations

import random
import signal
import time
from concurrent.futures import Future
from pathlib import Path

import pytest

from streams.engine.crash_points import POINTS
from tests.chaos.test_crash_points import AS_TASKS_LEAVE, AS_TASKS_OPEN
from tests.e2e.environment import Worker
from tests.history.anomalies import render_violations
from tests.history.clients import Clients
from tests.history.site import SETTINGS, Site
from tests.history.sources import Causes
from tests.processes import wait_for
from topology.apc import APC_EVENTS, APC_PACKETS
from topology.topics import dead_letters_of

pytestmark = pytest.mark.slow

SOME = 6
AWAY_S = 12.0
"""Longer than a session lasts."""
STILL_S = 2 * AWAY_S


def times(point: str, dice: random.Random) -> int:
    """Which passing a worker dies at; a transaction has some tens of records."""
    if point == "in-produce":
        return dice.randint(1, 200)
    if point in AS_TASKS_OPEN | AS_TASKS_LEAVE or point.endswith(("-fire", "-offsets")):
        return 1
    return dice.randint(1, 8)


class Mortals:
    """Two workers; one that has died is started again, to die at the next of the points.

    Neither is a static member of the group, so that each start is a rebalance, and another one
    comes when the session of who has died is over.
    """

    def __init__(self, site: Site, dice: random.Random, count: int) -> None:
        self._site, self._dice = site, dice
        self._left = dice.sample(list(POINTS), count)
        self._doomed: dict[str, str] = {}
        names = ("first", "second")
        self._workers = {name: site.start_worker(name) for name in names}
        self._away: dict[str, float] = {}
        self._moved = time.monotonic()

    def wait_ready(self) -> None:
        for worker in self._workers.values():
            worker.wait_ready()

    def kill(self) -> None:
        for worker in self._workers.values():
            worker.kill()

    def all_died(self) -> bool:
        """Start who has died again; True once there was a death at each of the points."""
        for name, worker in self._workers.items():
            if not worker.running and time.monotonic() > self._away.get(name, 0.0):
                assert worker.exit_code() == -signal.SIGKILL, worker.text()[-3000:]
                if self._doomed.pop(name, None):
                    assert "assigned [" in worker.text(), "no rebalance gave it tasks"
                self._workers[name] = self._started(name)
        self._stir()
        return not self._doomed and all(worker.running for worker in self._workers.values())

    def _started(self, name: str) -> Worker:
        self._moved = time.monotonic()
        if not self._left:
            return self._site.start_worker(name)
        point = self._left.pop()
        self._doomed[name] = f"{point}:{times(point, self._dice)}"
        print(f"{name} is to die at {self._doomed[name]}")
        return self._site.start(name, **SETTINGS, CRASH_AT=self._doomed[name])

    def _stir(self) -> None:
        """Where nothing has moved for a while, and tasks have to for a death, one goes, so that the
        other has all of them until it comes again: who is not doomed, or one that is, whose turn
        comes again.
        """
        if time.monotonic() - self._moved < STILL_S:
            return
        self._moved = time.monotonic()
        names = self._workers.keys() - self._doomed.keys()
        name = self._dice.choice(sorted(names or self._doomed))
        if name in self._doomed:
            self._left.insert(0, self._doomed.pop(name).partition(":")[0])
        self._workers[name].kill()
        self._away = {name: time.monotonic() + AWAY_S}

    def end(self) -> None:
        self.wait_ready()
        for worker in self._workers.values():
            worker.end()


class Bursts:
    """Traffic that goes on: the next burst is sent when the packets of the last are answered."""

    def __init__(self, site: Site, clients: Clients) -> None:
        self._clients = clients
        self._sending: list[Future[None]] = []
        answers = APC_EVENTS, dead_letters_of(APC_PACKETS)
        self._causes = Causes(site.tail(topic) for topic in answers)
        self._packets = f"{site.name(APC_PACKETS)}/"

    def go_on(self) -> None:
        if all(client.done() for client in self._sending) and self._answered():
            self.wait()
            self._sending = self._clients.burst()

    def _answered(self) -> bool:
        sent = {place for place in list(self._clients.notes) if place.startswith(self._packets)}
        return sent <= self._causes.now()

    def wait(self) -> None:
        """Until all is acknowledged.  Raises what has gone wrong."""
        for client in self._sending:
            client.result(120)


@pytest.mark.timeout(1200)
def test_a_mixed_history_is_whole_though_workers_die_at_their_points(
    broker: str, tmp_path: Path, dice: random.Random, request: pytest.FixtureRequest
) -> None:
    count = len(POINTS) if request.config.getoption("each_point", default=False) else SOME
    with Site(broker, tmp_path) as site, site.view() as view:
        workers = Mortals(site, dice, count)
        workers.wait_ready()
        with Clients(site, dice) as clients:
            clients.begin()
            bursts = Bursts(site, clients)
            workers.kill()

            def done() -> bool:
                bursts.go_on()
                return workers.all_died()

            wait_for(done, "a death at each of the points", 600, 0.1)
            bursts.wait()
            site.settle(clients)
        workers.end()
        violations = site.report(clients, view)
        assert violations == [], render_violations(violations)
        assert site.unused() == []
