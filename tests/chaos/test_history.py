"""One history of all five protocols, while workers are killed and partitions change hands."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.history import values_of
from tests.history.anomalies import Violation, render_violations
from tests.history.clients import PACKETS, Clients
from tests.history.site import Site
from topology.apc import APC_EVENTS
from topology.saop import SAOP_REWIND_LOG

pytestmark = pytest.mark.slow

PAUSE_S = 2.0
"""Between bursts, while a verification is under way."""


@contextmanager
def amid(site: Site, clients: Clients, dice: random.Random) -> Iterator[None]:
    """While a burst is sent and decided: after any of the facts to come, anywhere in a cycle."""
    tail = site.tail(APC_EVENTS)
    aim = tail.poll() + dice.randrange(1, PACKETS * 3 // 4)
    sending = clients.burst()
    tail.until(aim, 120)
    time.sleep(dice.random() / 20)
    yield
    for client in sending:
        client.result(120)


def verified_amid(site: Site, clients: Clients) -> list[Violation]:
    """What is found while bursts are sent and decided."""
    with ThreadPoolExecutor(1) as pool:
        verifying = pool.submit(site.verified)
        while not verifying.done():
            for client in clients.burst():
                client.result(120)
            wait([verifying], PAUSE_S)
    return verifying.result()


class Workers:
    """Two of them, and now and then a third."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.first = site.start_worker("first", "--static")
        self.second = site.start_worker("second")

    def kill_first(self) -> None:
        self.first.kill()
        self.first = self._site.start_worker("first", "--static")

    def kill_first_and_its_disk(self) -> None:
        self.first.kill()
        shutil.rmtree(self._site.directory / "first")
        self.first = self._site.start_worker("first", "--static")

    def kill_second(self) -> None:
        self.second.kill()
        self.second = self._site.start_worker("second")

    def come_and_go(self) -> None:
        """A third one joins, and the second one leaves in its stead."""
        third = self._site.start_worker("third")
        third.wait_ready()
        self.second.end()
        self.second = third

    def end(self) -> None:
        for worker in (self.first, self.second):
            worker.wait_ready()
            worker.end()


@pytest.mark.timeout(900)
def test_a_mixed_history_is_whole_though_workers_are_killed_join_and_leave(
    broker: str, tmp_path: Path, dice: random.Random
) -> None:
    with Site(broker, tmp_path) as site, site.view() as view:
        workers = Workers(site)
        workers.first.wait_ready()
        happen: list[Callable[[], None]] = [
            workers.kill_first,
            workers.kill_second,
            workers.come_and_go,
            workers.kill_first_and_its_disk,
        ]
        dice.shuffle(happen)
        with Clients(site, dice) as clients:
            clients.begin()
            for event in happen:
                print(event.__name__)
                with amid(site, clients, dice):
                    event()
                view.catch_up(60)
                workers.first.wait_ready()
            assert verified_amid(site, clients) == [], "a cut of the log while it is written"
            site.settle(clients)
        workers.end()
        violations = site.report(clients, view)
        assert violations == [], render_violations(violations)
        check_variety(site, clients)


def check_variety(site: Site, clients: Clients) -> None:
    """Every protocol was there, and the clients noted what they sent."""
    assert len(clients.notes) > 1500
    assert site.unused() == []
    rules = {fact["rule"] for fact in values_of(site, SAOP_REWIND_LOG)}
    assert {"rewind_prepared", "rewind_applied", "rewind_aborted", "rewind_unknown"} <= rules
