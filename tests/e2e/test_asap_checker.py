"""The checker of ASAP finds nothing in what a sound run left, and each fault put into it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.routes.handle import Routes
from streams.settings import Settings
from streams.view_store.view import View
from tests.e2e import asap_check_edges, asap_check_views, asap_history, checker_asap
from tests.e2e.asap_faults import FAULTS, is_found
from tests.e2e.asap_fold import Fold
from tests.e2e.asap_history import AsapHistory
from tests.e2e.asap_traffic import Traffic, in_phases, lines
from tests.e2e.recorded import Recorded
from tests.e2e.spoiling import Fault
from tests.examples import run_size
from topology.core import LINEAGE_EDGES

START_MS = 1_790_000_000_000
MINUTE_MS = 60_000
STORIES = run_size(150, 40), run_size(120, 60)


class Told(Recorded):
    """Tasks of all kinds, told until no timer of theirs is left but those of an hour and more."""

    def __init__(self, directory: Path, dice: random.Random) -> None:
        super().__init__(directory, START_MS)
        traffic = Traffic(self, dice)
        self.log.append(traffic.manifests())
        self.host.run()
        for phase in in_phases(traffic.stories(*STORIES) + traffic.families(16)):
            envelopes = [line for story in phase for line in lines(story)]
            dice.shuffle(envelopes)
            self.log.append([one for line in envelopes for one in traffic.records(line)])
            self.pass_(dice.randrange(400))
        self.pass_(20 * MINUTE_MS)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    recording = Told(tmp_path_factory.mktemp("recorded"), random.Random(7))
    yield recording
    recording.host.close()


@pytest.fixture(scope="module")
def sound(recording: Told) -> AsapHistory:
    return asap_history.read(recording)


def test_a_sound_history_has_no_faults(sound: AsapHistory) -> None:
    assert checker_asap.check(sound) == []


@pytest.mark.parametrize("put", FAULTS, ids=lambda put: put.__name__.strip("_"))
def test_a_fault_is_found(sound: AsapHistory, put: Fault) -> None:
    assert is_found(put, sound), FAULTS[put]


def test_the_graph_has_the_edges_of_the_facts(recording: Told, sound: AsapHistory) -> None:
    edges = asap_history.entries(LINEAGE_EDGES, recording.records(LINEAGE_EDGES))
    assert list(asap_check_edges.check(edges, sound, Fold(sound))) == []
    assert len(list(asap_check_edges.check(edges[1:-1], sound, Fold(sound)))) == 2


def test_queries_show_what_was_live_after_each_event(
    recording: Told, sound: AsapHistory, tmp_path: Path
) -> None:
    fold = Fold(sound)
    with View(recording.log, tmp_path / "view", recording.prefix, lambda: recording.now) as view:
        view.catch_up(0)
        settings = Settings.load({}, prefix=recording.prefix)
        routes = Routes(view, recording.log, settings, lambda: recording.now, wait_s=0)
        assert list(asap_check_views.check(routes, list(fold.tasks.values()))) == []


def test_nothing_is_wrong_when_events_have_expired(recording: Told, sound: AsapHistory) -> None:
    recording.pass_(120 * MINUTE_MS)
    history = asap_history.read(recording)
    assert checker_asap.check(history) == []
    expired = [task for task in Fold(history).tasks.values() if not task.row["events_available"]]
    assert expired
