"""A mixed history from its first record to the report of its checker."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streams.engine.worker import worker_directory
from streams.view_store.view import View
from tests.e2e.environment import Environment, Worker
from tests.e2e.outputs import Json
from tests.history import answers, paths, protocols, stores, views
from tests.history.anomalies import Anomaly, Violation
from tests.history.clients import Clients
from tests.history.faults import Fault
from tests.processes import wait_for
from topology import processors
from topology.declarations import Topic
from topology.sap import SAP_INBOX
from topology.verdicts import VERDICTS

SUMMIT_TIMEOUT_S = 6
SETTINGS = {
    "BATCH": "50",
    "SAP_FLIGHT_WAIT_S": "2",
    "SAP_FLIGHT_LEASE_S": "20",
    "SAP_FLIGHT_MAX_WAITERS": "20",
    "ASAP_CALL_TIMEOUT_SECONDS": "8",
    "SUMMIT_RUN_TIMEOUT_S": str(SUMMIT_TIMEOUT_S),
    "SAOP_HOLD_S": "2",
    "SAOP_REWIND_LAPSE_S": "2",
}
"""Short times, so that every timer of a run fires within it."""
INPUTS: tuple[Topic, ...] = tuple(dict.fromkeys(t for p in processors.ALL for t in p.inputs))
PATIENCE_S = 240.0


class FaultyWorker(Worker):
    """One worker with a fault, or with none: see `tests.history.worker`."""

    MODULE = "tests.history.worker"


class Site(Environment):
    """Workers, clients and a view that follows them."""

    def __init__(self, bootstrap: str, directory: Path) -> None:
        super().__init__(bootstrap, directory)
        self._workers: set[str] = set()
        self._verifications = 0

    def start_worker(self, name: str, *arguments: str) -> Worker:
        self._workers.add(name)
        return self.start(name, *arguments, **SETTINGS)

    def start_faulty(self, name: str, fault: Fault) -> Worker:
        """It does nothing wrong before it is armed."""
        self._workers.add(name)
        log = self.directory / f"{name}-{len(self._processes)}.log"
        worker = FaultyWorker(name, self.directory / name, log, self._environ(**SETTINGS), fault)
        self._processes.append(worker)
        return worker

    @contextmanager
    def view(self) -> Iterator[View]:
        with View(self.log, self.directory / "view", self.prefix) as view:
            yield view

    def settle(self, clients: Clients) -> None:
        """Until every input is decided, the agents have said all, and no timer is due soon."""

        def sizes() -> list[int]:
            return [self.count(topic) for topic in (*INPUTS, SAP_INBOX)]

        def quiet() -> bool:
            before, doers = sizes(), clients.doers
            if doers.waiting or doers.seen != self.count(SAP_INBOX):
                return False
            return self.drained(INPUTS) and sizes() == before

        wait_for(quiet, "quiet", PATIENCE_S, 0.3)

    def wait_until_still(self, clients: Clients, still_s: float = 15.0) -> None:
        """Until nothing has been written for a while: what is lost is not waited for."""
        topics = (*INPUTS, SAP_INBOX)
        since, last = time.monotonic(), 0

        def still() -> bool:
            nonlocal since, last
            now = sum(map(self.count, topics))
            if now != last or clients.doers.waiting:
                since, last = time.monotonic(), now
            return time.monotonic() - since > still_s

        wait_for(still, "still", PATIENCE_S, 0.3)

    def unused(self) -> list[str]:
        """Topics of clients' commands on which nothing was sent."""
        commands = [topic for topic in VERDICTS if not topic.internal]
        return [topic.name for topic in commands if not self.records(topic)]

    def verified(self) -> list[Violation]:
        """What `headrace verify` finds, at one cut of the log as it is now."""
        return self._findings(self._verification())

    def _verification(self) -> Json:
        self._verifications += 1
        process = self.process(f"verify-{self._verifications}", "verify", "--json")
        assert process.exit_code(PATIENCE_S) in (0, 1), process.text()[-3000:]
        text = process.text()
        report: Json = json.loads(text[text.index("{") :])
        return report

    def _findings(self, report: Json) -> list[Violation]:
        return [
            Violation(Anomaly.TABLE, one["place"], f"{one['fault']}: {one['told']}")
            for one in report["findings"]
        ]

    def _verified_whole(self) -> list[Violation]:
        """At rest nothing is left out of the verification."""
        report = self._verification()
        left: int = report["unchecked"]
        violations = (
            [Violation(Anomaly.TABLE, "verify", f"leaves {left} unchecked")] if left else []
        )
        return [*self._findings(report), *violations]

    def report(self, clients: Clients, view: View) -> list[Violation]:
        """Everything that is wrong, clause by clause.  All workers have ended."""
        view.catch_up(60)
        expected = protocols.Expected(clients.agents.turns, SUMMIT_TIMEOUT_S)
        directories = {
            name: worker_directory(self.settings_of(name)) for name in sorted(self._workers)
        }
        return [
            *answers.check(self, clients.notes),
            *paths.check(self),
            *stores.check(self, directories),
            *protocols.check(self, expected),
            *views.check(self, view),
            *self._verified_whole(),
        ]
