"""SAP on a real broker: workers, issuers, operators and agents, until nothing is left to do."""

from __future__ import annotations

import shutil
import time

from schemas import decode
from streams.engine.rows import store_key
from streams.engine.work import timer_of
from tests.e2e.environment import SOON_MS, Environment, Worker
from tests.e2e.outputs import PARTITIONS
from tests.e2e.sap_agents import Agents
from tests.processes import wait_for
from topology.core import INPUT_POSITIONS, RTES_RAW, TIMERS
from topology.declarations import Topic
from topology.sap import (
    SAP_INBOX,
    SAP_LEARNING_SIGNALS,
    SAP_LOOKUPS,
    SAP_RESULTS,
    SAP_SIGNALS,
    SAP_TASKS,
    SAP_VERDICTS,
)

INPUTS: tuple[Topic, ...] = (
    SAP_TASKS,
    SAP_RESULTS,
    SAP_SIGNALS,
    SAP_LOOKUPS,
    SAP_VERDICTS,
    SAP_LEARNING_SIGNALS,
    RTES_RAW,
)
SETTINGS = {"SAP_FLIGHT_WAIT_S": "2", "SAP_FLIGHT_LEASE_S": "20", "SAP_FLIGHT_MAX_WAITERS": "20"}
"""A lease is longer than any worker is away, as the default is."""
_TIMERS = store_key(TIMERS.name, "")


class Site:
    """Agents at work in one environment; the workers are the test's."""

    def __init__(self, environment: Environment, seed: int) -> None:
        self.environment = environment
        self.agents = Agents(environment.log, environment, PARTITIONS, seed, time.monotonic)

    def start(self, name: str, *arguments: str, **settings: str) -> Worker:
        return self.environment.start(name, *arguments, **SETTINGS, **settings)

    def empty(self, name: str) -> None:
        """Delete the state directory of a worker that does not run."""
        shutil.rmtree(self.environment.directory / name, ignore_errors=True)

    def drain(self, patience_s: float = 150.0) -> None:
        """Until every input is decided, every agent has said all, and no timer is due soon."""
        wait_for(self._drained, "drained", patience_s, 0.2)

    def _drained(self) -> bool:
        if not self._decided():
            return False
        before = self._sizes()
        agents = self.agents
        quiet = agents.seen == len(self.environment.records(SAP_INBOX)) and not agents.waiting
        return quiet and self._decided() and self._sizes() == before

    def _sizes(self) -> list[int]:
        return [len(self.environment.records(topic)) for topic in (*INPUTS, SAP_INBOX)]

    def _decided(self) -> bool:
        """As of the changelog, of all that is there now."""
        rows = self.environment.changelog()
        horizon = time.time() * 1000 + SOON_MS
        for _, key in rows:
            if key.startswith(_TIMERS):
                _, timer = timer_of(key[len(_TIMERS) :].decode(), {})
                if timer.due_ms < horizon:
                    return False
        for topic in INPUTS:
            ends = {record.partition: record.offset for record in self.environment.records(topic)}
            key = store_key(INPUT_POSITIONS.name, topic.name)
            for partition, last in ends.items():
                row = rows.get((partition, key))
                if row is None or decode(row, INPUT_POSITIONS.record).value["next_offset"] <= last:
                    return False
        return True
