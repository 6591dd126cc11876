"""The checker of SAP finds nothing in what a sound run left, and each fault that is put into it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import checker_sap, sap_history
from tests.e2e.outputs import PARTITIONS
from tests.e2e.recorded import Recorded
from tests.e2e.sap_agents import Agents
from tests.e2e.sap_faults import FAULTS, Fault, copied, is_found, latter
from tests.e2e.sap_history import Entry, SapHistory
from tests.e2e.sap_traffic import Traffic
from topology.sap import SAP_CACHE, SAP_VERDICTS

TASKS = 320
BURST = 30
START_MS = 1_790_000_000_000
HORIZON_MS = 400_000


class Told(Recorded):
    """Tasks of all kinds, with agents that answer."""

    def __init__(self, directory: Path, **changes: Any) -> None:
        super().__init__(directory, START_MS, **changes)
        self.agents = Agents(self.log, self, PARTITIONS, 5, lambda: self.now / 1000)

    def run(self, dice: random.Random) -> None:
        traffic = Traffic(self, dice)
        while len(traffic.tasks) < TASKS:
            self.log.append(traffic.burst(BURST, self.now))
            self._pass(800)
            self.log.append(traffic.comments(BURST // 4))
            self._pass(800)
        self._pass(HORIZON_MS)
        self.host.close()

    def _pass(self, ms: int) -> None:
        end = self.now + ms
        while self.now < end:
            self.host.run()
            self.agents.turn()
            self.host.run()
            due = self.host.next_due()
            soon = self.now + 30 if self.agents.waiting else end
            self.now = max(self.now + 1, min(end, soon, due or end))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> SapHistory:
    recorded = Told(tmp_path_factory.mktemp("recorded"))
    recorded.run(random.Random(7))
    return sap_history.read(recorded)


@pytest.fixture(scope="module")
def with_copies(tmp_path_factory: pytest.TempPathFactory) -> SapHistory:
    """Return a history of workers that keep copies of the cache."""
    recorded = Told(tmp_path_factory.mktemp("recorded"), sap_cache_copy=True)
    recorded.run(random.Random(7))
    return sap_history.read(recorded)


@pytest.mark.slow
def test_a_history_with_hits_at_admission_has_no_faults(with_copies: SapHistory) -> None:
    assert len(sap_history.admissions(with_copies)) > 10
    assert checker_sap.check(with_copies) == []


def _names_another_position(history: SapHistory, hit: Entry) -> None:
    hit.value["lookupId"] = hit.place


def _names_another_hash(history: SapHistory, hit: Entry) -> None:
    hit.value["recordSha256"] = "0" * 64


def _is_there_twice(history: SapHistory, hit: Entry) -> None:
    history.of(SAP_VERDICTS).append(hit)


def _is_missing(history: SapHistory, hit: Entry) -> None:
    history.of(SAP_VERDICTS).remove(hit)


@pytest.mark.slow
@pytest.mark.parametrize(
    "spoil", [_names_another_position, _names_another_hash, _is_there_twice, _is_missing]
)
def test_a_fault_in_a_hit_at_admission_is_found(
    with_copies: SapHistory, spoil: Callable[[SapHistory, Entry], None]
) -> None:
    history = copied(with_copies)
    spoil(history, next(iter(sap_history.admissions(history).values())))
    assert checker_sap.check(history) != []


def test_a_sound_history_has_no_faults(sound: SapHistory) -> None:
    assert checker_sap.check(sound) == []
    assert checker_sap.changed(sound, sound) == []


@pytest.mark.parametrize("put", FAULTS, ids=lambda put: put.__name__.strip("_"))
def test_a_fault_is_found(sound: SapHistory, put: Fault) -> None:
    assert is_found(put, sound), FAULTS[put]


def test_a_changed_byte_is_found_whatever_it_means(sound: SapHistory) -> None:
    spoiled_history = copied(sound)
    entry = latter(spoiled_history)
    assert entry.raw is not None
    entry.raw = entry.raw[:-1] + bytes([entry.raw[-1] ^ 1])
    assert checker_sap.changed(sound, spoiled_history) == [f"{entry.place} has changed"]
    spoiled_history.of(SAP_CACHE).remove(entry)
    assert checker_sap.changed(sound, spoiled_history) == [f"{entry.place} is gone"]
