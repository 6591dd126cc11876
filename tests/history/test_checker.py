"""The checker of mixed histories finds nothing in a sound one, and all that is put into it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from streams.engine.records import Output, Record, position
from streams.engine.rows import store_key
from streams.views import View
from tests.e2e.agents import Agents
from tests.e2e.agents import outputs as said_as
from tests.e2e.recorded import Recorded
from tests.e2e.traffic import Traffic, output_of
from tests.history import answers, paths, protocols, stores, views
from tests.history.anomalies import Anomaly, Finding, shown
from tests.history.sources import Source
from tests.history.spoiling import Change, Spoiled, changed, without
from topology.declarations import Topic
from topology.tables import INPUT_POSITIONS
from topology.topics import (
    APC_EVENTS,
    APC_INBOX,
    APC_PACKET_STATES,
    APC_PACKETS,
    CHANGELOG,
    RTES_EVENTS,
    SAOP_VERDICTS,
)

COUNT = 400
START_MS = 1_790_000_000_000
HORIZON_MS = 60_000


class Told(Recorded):
    """notes: what was sent, by position.  directory: of the tasks, which are closed."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, START_MS)
        self.directory = directory / "1"
        self.notes: dict[str, Output] = {}
        dice = random.Random(11)
        self.agents = Agents(dice)
        packets = islice(Traffic(dice, 20), COUNT)
        said = [output_of(self, sent) for sent in packets]
        said += said_as(self, islice(self.agents.said(6), COUNT))
        for start in range(0, len(said), 50):
            part = said[start : start + 50]
            for output, record in zip(part, self.log.append(part), strict=True):
                self.notes[position(record)] = output
            self.pass_(200)
        self.pass_(HORIZON_MS)
        self.host.close()


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return Told(tmp_path_factory.mktemp("told"))


@pytest.fixture(scope="module")
def view(told: Told, tmp_path_factory: pytest.TempPathFactory) -> Iterator[View]:
    path = tmp_path_factory.mktemp("view") / "rows"
    with View(told.log, path, told.prefix, lambda: told.now) as view:
        view.catch_up(0)
        yield view


def report(source: Source, told: Told, view: View) -> list[Finding]:
    return [
        *answers.check(source, told.notes),
        *paths.check(source),
        *stores.check(source, {"only": told.directory}),
        *protocols.check(source, protocols.Expected(told.agents.turns, 60)),
        *views.check(source, view),
    ]


def test_nothing_is_found_in_a_sound_history(told: Told, view: View) -> None:
    found = report(told, told, view)
    assert found == [], shown(found)


def _twice(records: list[Record]) -> list[Record]:
    return [*records, records[-1]]


def _position_again(records: list[Record]) -> list[Record]:
    """The first position that a task wrote of its packets, once more in the end."""
    key = store_key(INPUT_POSITIONS.name, APC_PACKETS.name)
    return [*records, next(one for one in records if one.key == key)]


def _accepted(fact: Any) -> bool:
    return bool(fact["verdict"] == "accepted" and len(fact["transitions"]) > 2)


def _astray(fact: Any) -> None:
    fact["transitions"][1]["to_state"] = "RETRACTED"


def _first(event: Any) -> bool:
    """Of a session that goes on."""
    return bool(event["sequence"] == 1 and event["session_id"].startswith("session-"))


def _all(*_: Any) -> bool:
    return True


def _out_of_phase(fact: Any) -> bool:
    return bool(fact["rule"] == "phase_type")


def _blamed(fact: Any) -> None:
    fact["rule"] = "drift_check_failed"


def _version(row: Any) -> None:
    row["version"] += 1


FAULTS: Sequence[tuple[str, Topic, Change, frozenset[Anomaly]]] = (
    (
        "an acknowledged command is gone",
        APC_PACKETS,
        without(lambda value: value is not None, APC_PACKETS),
        frozenset({Anomaly.NOT_KEPT, Anomaly.WITHOUT_COMMAND}),
    ),
    (
        "an acknowledged command is another",
        APC_PACKETS,
        changed(
            lambda value: value is not None,
            APC_PACKETS,
            lambda packet: packet.update(confidence=0.123),
        ),
        frozenset({Anomaly.NOT_KEPT}),
    ),
    (
        "a verdict is gone",
        SAOP_VERDICTS,
        without(_all, SAOP_VERDICTS),
        frozenset({Anomaly.UNANSWERED}),
    ),
    ("a verdict is there twice", SAOP_VERDICTS, _twice, frozenset({Anomaly.ANSWERED_TWICE})),
    (
        "a fact leaves the machine",
        APC_EVENTS,
        changed(_accepted, APC_EVENTS, _astray),
        frozenset({Anomaly.ILLEGAL_STEP}),
    ),
    (
        "a sequence has a gap",
        RTES_EVENTS,
        without(_first, RTES_EVENTS),
        frozenset({Anomaly.SEQUENCE, Anomaly.UNANSWERED}),
    ),
    ("a position moves back", CHANGELOG, _position_again, frozenset({Anomaly.POSITION_BACK})),
    ("a delivery is gone", APC_INBOX, without(_all, APC_INBOX), frozenset({Anomaly.OUTPUT})),
    (
        "a verdict does not follow",
        APC_EVENTS,
        changed(_out_of_phase, APC_EVENTS, _blamed),
        frozenset({Anomaly.VERDICT}),
    ),
    (
        "a row is another",
        APC_PACKET_STATES,
        lambda records: _last_changed(records),
        frozenset({Anomaly.TABLE, Anomaly.STORE, Anomaly.VIEW}),
    ),
)
"""What is done, to which topic, and the anomalies that must be named."""


def _last_changed(records: list[Record]) -> list[Record]:
    return changed(_all, APC_PACKET_STATES, _version)(records[::-1])[::-1]


@pytest.mark.parametrize(
    ("topic", "change", "wanted"),
    [fault[1:] for fault in FAULTS],
    ids=[fault[0] for fault in FAULTS],
)
def test_a_fault_is_found_and_named(
    told: Told, view: View, topic: Topic, change: Change, wanted: frozenset[Anomaly]
) -> None:
    found = report(Spoiled(told, topic, change), told, view)
    assert wanted <= {one.anomaly for one in found}, shown(found)


def test_every_anomaly_is_named_by_some_fault() -> None:
    """Those of this file, and those that are put into workers (`tests.chaos`)."""
    assert {name for *_, names in FAULTS for name in names} == set(Anomaly)
