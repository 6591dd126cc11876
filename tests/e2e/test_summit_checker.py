"""The checker of Summit finds nothing in what a sound run left, and each fault put into it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e import checker_summit, summit_history
from tests.e2e.asap_traffic import in_phases
from tests.e2e.recorded import Recorded
from tests.e2e.spoiling import Fault
from tests.e2e.summit_faults import FAULTS, is_found
from tests.e2e.summit_history import Logged
from tests.e2e.summit_traffic import Traffic
from tests.examples import run_size
from topology.summit import SUMMIT_EVENTS

START_MS = 1_790_000_000_000
ROUNDS = run_size(4, 2)
TIMEOUT_S = 600


class Told(Recorded):
    """Runs of all kinds, told until the time of each is over."""

    def __init__(self, directory: Path, dice: random.Random) -> None:
        super().__init__(directory, START_MS)
        traffic = Traffic(self, dice)
        for n in range(ROUNDS):
            changes = traffic.manifests.changes() if n else traffic.manifests.first()
            changed = self.log.append(changes)
            self.host.run()
            traffic.manifests.noted(changed)
            for phase in in_phases(traffic.stories(12, 88)):
                self.now += dice.choice((0, 0, 1_700))  # some come before the tick that is due
                batches = [[*traffic.records(story_messages)] for story_messages in phase]
                dice.shuffle(batches)
                self.log.append(
                    [one for line in batches for one in line] + traffic.manifests.churn()
                )
                self.pass_(dice.randrange(400))
        self.pass_(20 * 60_000)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logged]:
    recording = Told(tmp_path_factory.mktemp("recorded"), random.Random(7))
    yield summit_history.read(recording)
    recording.host.close()


def test_a_sound_history_has_no_faults(sound: Logged) -> None:
    assert checker_summit.check(sound, TIMEOUT_S) == []
    timers = [fact for fact in sound.values(SUMMIT_EVENTS) if fact["subject"] == "timer"]
    assert any(fact["cause"].startswith("unit.summit.replies/") for fact in timers)


@pytest.mark.parametrize("put", FAULTS, ids=lambda put: put.__name__.strip("_"))
def test_a_fault_is_found(sound: Logged, put: Fault) -> None:
    assert is_found(put, sound, TIMEOUT_S), FAULTS[put]
