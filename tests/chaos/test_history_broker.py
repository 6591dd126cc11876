"""One history of all five protocols, amid which the broker is killed and comes back."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest

from streams.engine.records import Output
from streams.errors import BrokerUnavailable
from streams.view_store.view import View
from tests.chaos.test_broker_away import PrivateBroker
from tests.e2e.environment import Worker
from tests.history.anomalies import render_violations
from tests.history.clients import PACKETS, Clients
from tests.history.site import INPUTS, Site
from tests.history.sources import cause_of
from tests.processes import wait_for
from topology.apc import APC_EVENTS
from topology.verdicts import VERDICTS

pytestmark = pytest.mark.slow

Sent = tuple[str, bytes | None, bytes | None]
"""Topic, key and value."""


@pytest.fixture
def private(tmp_path: Path) -> Iterator[PrivateBroker]:
    broker = PrivateBroker(tmp_path / "broker")
    yield broker
    broker.end()


class Kills:
    """Of the broker, each amid a burst; when it is back, all that was said is acknowledged."""

    def __init__(self, private: PrivateBroker, site: Site, clients: Clients) -> None:
        self._private, self._site, self._clients = private, site, clients

    def while_sending(self, pause_s: float) -> None:
        sending = self._clients.burst()
        time.sleep(pause_s)
        self._kill(sending)

    def while_deciding(self, facts: int) -> None:
        """After so many of the facts to come."""
        tail = self._site.tail(APC_EVENTS)
        aim = tail.poll() + facts
        sending = self._clients.burst()
        tail.until(aim, 120)
        self._kill(sending)

    def _kill(self, sending: Sequence[Future[None]]) -> None:
        self._private.signal(signal.SIGKILL)
        sending = [*sending, *self._until_in_doubt(sending)]
        assert self._private.start() == self._private.bootstrap
        for client in sending:
            client.result(120)
        wait_for(self._answers, "the broker answers all questions", 120, 0.2)

    def _until_in_doubt(self, sending: Sequence[Future[None]]) -> list[Future[None]]:
        """Until a client waited in vain.  Returns a burst of which one does, if none else did."""
        clients, before = self._clients, len(self._clients.doubts)
        more: list[Future[None]] = []

        def in_doubt() -> bool:
            if not more and all(client.done() for client in sending):
                more.extend(clients.burst())
            return len(clients.doubts) > before

        wait_for(in_doubt, "records in doubt", 120)
        return more

    def _answers(self) -> bool:
        try:
            return all(self._site.ends(topic) for topic in INPUTS)
        except BrokerUnavailable:
            return False


def unaccounted(site: Site, clients: Clients) -> Counter[Sent]:
    """Records of clients that are neither acknowledged nor in doubt: a producer wrote one twice."""
    there = Counter(
        (one.topic, one.key, one.value)
        for topic in VERDICTS
        for one in site.records(topic)
        if not cause_of(one)  # processors send commands, too
    )
    remaining = there - _counted(clients.notes.values())
    print(f"{len(clients.doubts)} times in doubt, {remaining.total()} of them are there")
    return remaining - _counted(clients.doubts)


def _counted(outputs: Iterable[Output]) -> Counter[Sent]:
    return Counter((one.topic, one.key, one.value) for one in outputs)


def check_whole(site: Site, clients: Clients, view: View, workers: Sequence[Worker]) -> None:
    """End the workers, which have survived, and check the history of all protocols."""
    for worker in workers:
        assert worker.running, worker.text()[-3000:]
        worker.end()
    violations = site.report(clients, view)
    assert violations == [], render_violations(violations)
    assert unaccounted(site, clients) == Counter()
    assert site.unused() == []


@pytest.mark.timeout(600)
def test_a_mixed_history_is_whole_though_the_broker_is_killed_amid_it(
    private: PrivateBroker, tmp_path: Path, dice: random.Random
) -> None:
    with Site(private.bootstrap, tmp_path) as site, site.view() as view:
        workers = [site.start_worker("first"), site.start_worker("second")]
        for worker in workers:
            worker.wait_ready()
        with Clients(site, dice, stubborn=True) as clients:
            clients.begin()
            kills = Kills(private, site, clients)
            kills.while_sending(dice.random() / 5)
            view.catch_up(120)
            kills.while_deciding(dice.randrange(1, PACKETS // 2))
            site.settle(clients)
        check_whole(site, clients, view, workers)
