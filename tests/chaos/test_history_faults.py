"""The checker of mixed histories finds each fault that is really put into a worker, by its name.

Each run is the same: two workers, one of which is struck amid its work, killed and started again.
Without the fault the report is empty.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from streams.engine.records import position
from tests.e2e.environment import Worker
from tests.history.anomalies import Anomaly, Violation, render_violations
from tests.history.clients import Clients
from tests.history.faults import ARM, TOLD, Fault
from tests.history.site import Site
from tests.history.sources import Causes
from tests.processes import wait_for
from topology.topics import dead_letters_of
from topology.verdicts import VERDICTS

pytestmark = pytest.mark.slow

FATAL = frozenset({Fault.NONE, Fault.APPLY_FIRST})
"""The worker dies of them at once."""
ASLEEP = frozenset({Fault.SLEEP, Fault.NO_FENCING})
WANTED: dict[Fault, frozenset[Anomaly]] = {
    Fault.DROP_COMMIT: frozenset({Anomaly.UNANSWERED}),
    Fault.APPLY_FIRST: frozenset({Anomaly.UNANSWERED, Anomaly.STORE}),
    Fault.NO_FENCING: frozenset({Anomaly.ANSWERED_TWICE, Anomaly.POSITION_BACK}),
    Fault.DOUBLE_DELIVERY: frozenset({Anomaly.ANSWERED_TWICE}),
}
"""Of the anomalies that tell the faults apart, those that each one shows."""
ALSO = {Fault.NO_FENCING: frozenset({Anomaly.STORE})}
"""Those that may come of it: two owners write one changelog, and each stores its own rows alone."""
TELLING = frozenset().union(*WANTED.values())


def _input_of(place: str) -> str:
    """The topic and partition of a command."""
    return place.rpartition("/")[0]


class Struck:
    """One run.  places: of the commands that the fault has struck."""

    def __init__(self, site: Site, clients: Clients, fault: Fault) -> None:
        self._site, self._clients, self._fault = site, clients, fault
        self.places: set[str] = set()

    def run(self) -> None:
        site, fault = self._site, self._fault
        first = site.start_faulty("first", fault)
        second = site.start_worker("second")
        first.wait_ready()
        second.wait_ready()
        self._clients.begin()
        self._send()
        self._strike(first)
        if fault not in FATAL:
            self._go_past()
        if fault in ASLEEP:
            length = len(first.text())
            first.wake()
            wait_for(lambda: "ready: tasks" in first.text()[length:], "it is back", 120)
        self._send()
        first.kill()
        first = site.start_worker("first", "--static")
        first.wait_ready()
        self._send()
        if fault in WANTED:
            site.wait_until_still(self._clients)
        else:
            site.settle(self._clients)
        for worker in (first, second):
            worker.wait_ready()
            worker.end()

    def _send(self, *clients: str) -> None:
        for client in self._clients.burst(*clients):
            client.result(120)

    def _go_past(self) -> None:
        """Until later commands of each struck input are answered, by its owner of now.  Only then
        does a kill not take back what the fault did in memory.
        """
        before = set(self._clients.notes)
        struck = {_input_of(place) for place in self.places}
        later: set[str] = set()
        while not struck <= {_input_of(place) for place in later}:
            self._send("apc", "saop")
            later = self._clients.notes.keys() - before
        self._await_answers(later)

    def _await_answers(self, places: set[str]) -> None:
        topics = [one for topic, of in VERDICTS.items() for one in (*of, dead_letters_of(topic))]
        causes = Causes(self._site.tail(topic) for topic in topics)
        wait_for(lambda: places <= causes.now(), f"{len(places)} commands are answered", 240, 0.5)

    def _strike(self, worker: Worker) -> None:
        """Commands of APC and SAOP until the fault has happened."""
        (worker.state_dir / ARM).touch()

        def struck() -> bool:
            self._send("apc", "saop")
            return TOLD in worker.text()

        wait_for(struck, "the fault has happened", 120)
        line = next(one for one in worker.text().splitlines() if one.startswith(TOLD))
        ranges: dict[str, list[int]] = json.loads(line.removeprefix(TOLD))
        for topic in VERDICTS:
            for record in self._site.records(topic):
                start, end = ranges.get(f"{record.topic}/{record.partition}", (0, 0))
                if start <= record.offset < end:
                    self.places.add(position(record))


def history(
    broker: str, directory: Path, dice: random.Random, fault: Fault
) -> tuple[set[str], list[Violation]]:
    """The commands that the fault has struck, and the report."""
    with Site(broker, directory) as site, site.view() as view:
        with Clients(site, dice) as clients:
            struck = Struck(site, clients, fault)
            struck.run()
        violations = site.report(clients, view)
    print(f"struck: {sorted(struck.places)}\n{render_violations(violations)}")
    return struck.places, violations


@pytest.mark.timeout(900)
@pytest.mark.parametrize("fault", [Fault.NONE, Fault.SLEEP])
def test_the_same_run_without_a_fault_is_clean(
    broker: str, tmp_path: Path, dice: random.Random, fault: Fault
) -> None:
    struck, violations = history(broker, tmp_path, dice, fault)
    assert struck
    assert violations == [], render_violations(violations)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("fault", list(WANTED))
def test_a_seeded_fault_is_found_and_named(
    broker: str, tmp_path: Path, dice: random.Random, fault: Fault
) -> None:
    struck, violations = history(broker, tmp_path, dice, fault)
    named = {one.anomaly for one in violations} & TELLING
    assert WANTED[fault] <= named <= WANTED[fault] | ALSO.get(fault, frozenset()), (
        render_violations(violations)
    )
    answers = {
        one.place
        for one in violations
        if one.anomaly in (Anomaly.UNANSWERED, Anomaly.ANSWERED_TWICE)
    }
    assert struck
    assert struck <= answers, render_violations(violations)
