"""Workers of SAP that are killed under traffic: what is left is exact all the same."""

from __future__ import annotations

import random
import time

import pytest

from schemas import decode
from streams.engine.records import Record
from tests.e2e import checker_sap, sap_history
from tests.e2e.environment import Environment, Worker
from tests.e2e.sap_faults import MAIN_FAULTS, is_found
from tests.e2e.sap_site import Site
from tests.e2e.sap_traffic import Traffic
from tests.e2e.sap_variety import check_variety
from tests.processes import wait_for
from topology.sap import SAP_ACKS, SAP_LOOKUPS

pytestmark = pytest.mark.slow

KILLS = 6
BURST = 360


def now_ms() -> int:
    return int(time.time() * 1000)


class Run:
    """Traffic in bursts, with a worker that dies in the middle of each."""

    def __init__(self, site: Site, dice: random.Random, cache_copy: str) -> None:
        self._site, self._dice, self._cache_copy = site, dice, cache_copy
        self._environment = site.environment
        self.traffic = Traffic(site.environment, dice)
        self.first = self._start_first()
        self.second: Worker | None = None

    def _start_first(self) -> Worker:
        settings = {"BATCH": "100", "SAP_CACHE_COPY": self._cache_copy}
        return self._site.start("first", "--static", **settings)

    def kill_first(self) -> None:
        self.first.kill()
        if self._dice.random() < 0.4:
            self._site.empty("first")
        self.first = self._start_first()

    def kill_second(self) -> None:
        if self.second is not None:
            self.second.kill()
        settings = {"BATCH": "100", "SAP_CACHE_COPY": self._cache_copy}
        self.second = self._site.start("second", **settings)

    def end(self) -> None:
        """Both cleanly."""
        for worker in (self.first, self.second):
            assert worker is not None
            worker.end()

    def send(self, count: int) -> None:
        env, dice = self._environment, self._dice
        records = self.traffic.burst(count, now_ms())
        records += self.traffic.comments(count // 6)
        dice.shuffle(records)
        env.send(records)

    def burst(self, *, until_store: bool) -> None:
        """Send one, and return in the middle of the work on it: anywhere, or right when an answer
        is on its way to the cache.
        """
        before = self._environment.tail(SAP_ACKS).poll()
        self.send(BURST)
        if until_store:
            self._await_store()
        else:
            self._environment.tail(SAP_ACKS).until(before + self._dice.randrange(1, BURST))
            time.sleep(self._dice.random() / 20)

    def _await_store(self) -> None:
        """Until an answer is on its way to the cache."""
        tail = self._environment.tail(SAP_LOOKUPS)
        start = len(tail.records)

        def stored() -> bool:
            nonlocal start
            tail.poll()
            new, start = tail.records[start:], len(tail.records)
            return any(is_store(record) for record in new)

        wait_for(stored, "an answer is given to the cache", look_s=0)


def is_store(record: Record) -> bool:
    return bool(decode(record.value, SAP_LOOKUPS.record or "").value["op"] == "STORE")


@pytest.mark.parametrize("cache_copy", ["false", "true"])
def test_each_task_has_one_end_and_each_answer_one_row_though_workers_are_killed(
    environment: Environment, dice: random.Random, cache_copy: str
) -> None:
    site, snapshots = Site(environment, dice.randrange(1000)), []
    with site.agents:
        run = Run(site, dice, cache_copy)
        run.first.wait_ready()
        for kill in range(KILLS):
            run.burst(until_store=kill % 2 == 0)
            if kill in (2, 5):
                run.kill_second()
            else:
                run.kill_first()
            if kill % 3 == 1:
                snapshots.append(sap_history.read(environment))
            run.first.wait_ready()
        run.send(BURST)
        site.drain()
        history = sap_history.read(environment)
    run.end()
    environment.verify()
    assert checker_sap.check(history) == []
    assert bool(sap_history.admissions(history)) == (cache_copy == "true")
    for before in snapshots:
        assert checker_sap.changed(before, history) == []
    check_variety(history)
    assert [put for put in MAIN_FAULTS if not is_found(put, history)] == []
