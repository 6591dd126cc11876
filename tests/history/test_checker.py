"""The checker of mixed histories finds nothing in a sound one, and all that is put into it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import chain, islice, zip_longest
from pathlib import Path

import pytest

from streams.engine.records import Output, position
from streams.view_store.view import View
from tests.e2e import checker_agents, otel_traffic, rewind_traffic
from tests.e2e.agents import Agents
from tests.e2e.agents import outputs as said_as
from tests.e2e.history import values_of
from tests.e2e.recorded import Recorded
from tests.e2e.stuck_agents import Stuck
from tests.e2e.traffic import Traffic, output_of
from tests.history import answers, paths, protocols, stores, views
from tests.history.anomalies import Anomaly, Violation, render_violations
from tests.history.injected import FAULTS
from tests.history.sources import Source
from tests.history.spoiling import Change, Spoiled
from topology.declarations import Topic
from topology.saop import (
    RTES_EVENTS,
    SAOP_ESCALATIONS,
    SAOP_REWIND_LOG,
    SAOP_TASK_SIGNALS,
)

COUNT, AGENTS, REWINDS, SPANS = 400, 6, 24, 100
AT_WORK = 10
"""What agents say between two rewinds."""
SEED = 22
"""Under which an agent is turned back amid a thought."""
OTHERS_SEED = 10
"""Of those who are stuck, and of spans."""
START_MS = 1_790_000_000_000
HORIZON_MS = 660_000
STUCK = 60


def _parts(records: Sequence[Output], size: int) -> Iterator[Sequence[Output]]:
    return (records[start : start + size] for start in range(0, len(records), size))


class RecordedHistory(Recorded):
    """notes: what was sent, by position.  directory: of the tasks, which are closed."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, START_MS)
        self.directory = directory / "1"
        self.notes: dict[str, Output] = {}
        dice = random.Random(SEED)
        self.agents = Agents(dice)
        packets = [output_of(self, sent) for sent in islice(Traffic(dice, 20), COUNT)]
        records = list(said_as(self, islice(self.agents.messages(AGENTS), COUNT)))
        others = [f"session-{number}" for number in range(1, AGENTS + 1)]
        stuck = Stuck(self, random.Random(OTHERS_SEED))
        turned = rewind_traffic.Traffic(self, dice, others).burst(REWINDS)
        amid = chain.from_iterable(zip_longest(_parts(records, AT_WORK), turned, fillvalue=()))
        spans = otel_traffic.Traffic(self, random.Random(OTHERS_SEED)).burst(SPANS)
        for part in (*_parts(packets, 50), *stuck.batches(STUCK), *amid, *_parts(spans, 20)):
            for output, record in zip(part, self.log.append(part), strict=True):
                self.notes[position(record)] = output
            self.pass_(200)
        self.agents.turns.update(stuck.thoughts)
        self.pass_(HORIZON_MS)
        self.host.close()


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> RecordedHistory:
    return RecordedHistory(tmp_path_factory.mktemp("told"))


@pytest.fixture(scope="module")
def view(recording: RecordedHistory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[View]:
    path = tmp_path_factory.mktemp("view") / "rows"
    with View(recording.log, path, recording.prefix, lambda: recording.now) as view:
        view.catch_up(0)
        yield view


def report(source: Source, recording: RecordedHistory, view: View) -> list[Violation]:
    return [
        *answers.check(source, recording.notes),
        *paths.check(source),
        *stores.check(source, {"only": recording.directory}),
        *protocols.check(source, protocols.Expected(recording.agents.turns, 60)),
        *views.check(source, view),
    ]


def test_rewinds_go_every_way(recording: RecordedHistory) -> None:
    facts = values_of(recording, SAOP_REWIND_LOG)
    ends = {(fact["phase"], fact["state"]) for fact in facts if fact["verdict"] == "accepted"}
    assert ends >= {
        ("apply", "applied"),
        ("prepare", "prepared"),
        ("confirm", "applied"),
        ("abort", "aborted"),
        ("lapse", "lapsed"),
    }
    assert {"duplicate", "rejected"} < {fact["verdict"] for fact in facts}
    assert any(len(fact["moved"]) > 1 for fact in facts)


def test_agents_are_turned_back_amid_their_thoughts(recording: RecordedHistory) -> None:
    assert checker_agents.astray(values_of(recording, RTES_EVENTS), recording.agents.turns)


def test_what_is_stuck_is_escalated_in_every_way(recording: RecordedHistory) -> None:
    escalated = values_of(recording, SAOP_ESCALATIONS)
    assert {rule for one in escalated for rule in one["rules"]} == {
        "confidence_slope",
        "confidence_drop",
        "observation_repeated",
        "failures_reached",
    }
    signals = values_of(recording, SAOP_TASK_SIGNALS)
    turned_back = {one["task_id"] for one in signals if one["kind"] == "rewound"}
    assert {one["task_id"] in turned_back for one in escalated} == {False, True}
    cleared = [one for one in signals if one["kind"] == "failures" and one["first_sequence"] > 20]
    assert cleared


def test_nothing_is_found_in_a_sound_history(recording: RecordedHistory, view: View) -> None:
    violations = report(recording, recording, view)
    assert violations == [], render_violations(violations)


"""What is done, to which topic, and the anomalies that must be named."""


@pytest.mark.parametrize(
    ("topic", "change", "expected"),
    [fault[1:] for fault in FAULTS],
    ids=[fault[0] for fault in FAULTS],
)
def test_a_fault_is_found_and_named(
    recording: RecordedHistory,
    view: View,
    topic: Topic,
    change: Change,
    expected: frozenset[Anomaly],
) -> None:
    violations = report(Spoiled(recording, topic, change), recording, view)
    assert expected <= {one.anomaly for one in violations}, render_violations(violations)


def test_every_anomaly_is_named_by_some_fault() -> None:
    """Those of this file, and those that are put into workers (`tests.chaos`)."""
    assert {name for *_, names in FAULTS for name in names} == set(Anomaly)
