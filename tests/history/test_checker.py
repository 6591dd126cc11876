"""The checker of mixed histories finds nothing in a sound one, and all that is put into it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

import pytest

from streams.engine.records import Output, Record, position
from streams.engine.rows import store_key
from streams.view_store.view import View
from tests.e2e import checker_agents, rewind_traffic
from tests.e2e.agents import Agents
from tests.e2e.agents import outputs as said_as
from tests.e2e.history import values_of
from tests.e2e.recorded import Recorded
from tests.e2e.stuck_agents import Stuck
from tests.e2e.traffic import Traffic, output_of
from tests.history import answers, paths, protocols, stores, views
from tests.history.anomalies import Anomaly, Violation, render_violations
from tests.history.sources import Source
from tests.history.spoiling import Change, Spoiled, changed, without
from topology.apc import APC_EVENTS, APC_INBOX, APC_PACKET_STATES, APC_PACKETS
from topology.core import CHANGELOG, INPUT_POSITIONS
from topology.declarations import Topic
from topology.saop import (
    RTES_EVENTS,
    SAOP_ESCALATIONS,
    SAOP_REWIND_LOG,
    SAOP_TASK_SIGNALS,
    SAOP_VERDICTS,
)

COUNT, AGENTS, REWINDS = 400, 6, 24
AT_WORK = 10
"""What agents say between two rewinds."""
SEED = 10
"""Under which an agent is turned back amid a thought."""
START_MS = 1_790_000_000_000
HORIZON_MS = 660_000
STUCK = 60


def _parts(records: Sequence[Output], size: int) -> Iterator[Sequence[Output]]:
    return (records[start : start + size] for start in range(0, len(records), size))


class Told(Recorded):
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
        stuck = Stuck(self, random.Random(SEED))
        turned = rewind_traffic.Traffic(self, dice, others).burst(REWINDS)
        amid = chain.from_iterable(zip_longest(_parts(records, AT_WORK), turned, fillvalue=()))
        for part in (*_parts(packets, 50), *stuck.batches(STUCK), *amid):
            for output, record in zip(part, self.log.append(part), strict=True):
                self.notes[position(record)] = output
            self.pass_(200)
        self.agents.turns.update(stuck.thoughts)
        self.pass_(HORIZON_MS)
        self.host.close()


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return Told(tmp_path_factory.mktemp("told"))


@pytest.fixture(scope="module")
def view(recording: Told, tmp_path_factory: pytest.TempPathFactory) -> Iterator[View]:
    path = tmp_path_factory.mktemp("view") / "rows"
    with View(recording.log, path, recording.prefix, lambda: recording.now) as view:
        view.catch_up(0)
        yield view


def report(source: Source, recording: Told, view: View) -> list[Violation]:
    return [
        *answers.check(source, recording.notes),
        *paths.check(source),
        *stores.check(source, {"only": recording.directory}),
        *protocols.check(source, protocols.Expected(recording.agents.turns, 60)),
        *views.check(source, view),
    ]


def test_rewinds_go_every_way(recording: Told) -> None:
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


def test_agents_are_turned_back_amid_their_thoughts(recording: Told) -> None:
    assert checker_agents.astray(values_of(recording, RTES_EVENTS), recording.agents.turns)


def test_what_is_stuck_is_escalated_in_every_way(recording: Told) -> None:
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


def test_nothing_is_found_in_a_sound_history(recording: Told, view: View) -> None:
    violations = report(recording, recording, view)
    assert violations == [], render_violations(violations)


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


def _linked(event: Any) -> bool:
    return bool(event["payload"][0].endswith("SandboxPulse") and event["task_id"] is not None)


def _committed(event: Any) -> bool:
    """As done, not as turned back."""
    return bool(event["payload"][1].get("git_hash") and event["rewind_id"] is None)


def _commit(event: Any) -> None:
    event["payload"][1]["git_hash"] = "0" * 40


def _of_other_protocol(event: Any) -> bool:
    return bool(event["profile"] == "apc")


def _vocabulary(event: Any) -> None:
    event["profile"] = "open"


def _escalates(escalation: Any) -> bool:
    return "escalated" in escalation["flags"]


def _failures(signal: Any) -> bool:
    return bool(signal["kind"] == "failures")


def _stuck(task: int, detector: str) -> Callable[[Any], bool]:
    return lambda escalation: (
        (escalation["task_id"], escalation["detector"]) == (f"stuck-{task}", detector)
    )


def _steeper(signal: Any) -> None:
    signal["confidences"][-1] -= 0.01


def _raised(event: Any) -> bool:
    return bool(event["payload"][0] == "headrace.rtes.EscalationRaised")


def _other_detector(event: Any) -> None:
    event["payload"][1]["detector"] = "gaze"


def _rewound(thought: Any) -> bool:
    return thought["rewind_id"] is not None


def _applied(fact: Any) -> bool:
    return bool(fact["rule"] == "rewind_applied")


def _elsewhere(event: Any) -> None:
    event["payload"][1]["to_state"] = "FAILED"


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
    (
        "an event is linked to no task",
        RTES_EVENTS,
        changed(_linked, RTES_EVENTS, lambda event: event.update(task_id=None)),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "a rewind moves a task elsewhere than it says",
        RTES_EVENTS,
        changed(_rewound, RTES_EVENTS, _elsewhere),
        frozenset({Anomaly.OUTPUT, Anomaly.ILLEGAL_STEP}),
    ),
    (
        "a rewind that is applied moves nothing",
        SAOP_REWIND_LOG,
        changed(_applied, SAOP_REWIND_LOG, lambda fact: fact["moved"].clear()),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "a rewind names other numbers",
        SAOP_REWIND_LOG,
        changed(_applied, SAOP_REWIND_LOG, lambda fact: fact.update(last_sequence=0)),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "the signal of a rewind is gone",
        SAOP_TASK_SIGNALS,
        without(_rewound, SAOP_TASK_SIGNALS),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "a commit is another",
        RTES_EVENTS,
        changed(_committed, RTES_EVENTS, _commit),
        frozenset({Anomaly.TABLE}),
    ),
    (
        "the task of another protocol is told in other words",
        RTES_EVENTS,
        changed(_of_other_protocol, RTES_EVENTS, _vocabulary),
        frozenset({Anomaly.TABLE}),
    ),
    (
        "a prepared rewind waits for ever",
        SAOP_REWIND_LOG,
        without(lambda fact: fact["phase"] == "lapse", SAOP_REWIND_LOG),
        frozenset({Anomaly.TABLE}),
    ),
    (
        "a failure has no flag",
        RTES_EVENTS,
        changed(_escalates, RTES_EVENTS, lambda event: event.update(flags=[])),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "the signal of failures is another",
        SAOP_TASK_SIGNALS,
        changed(_failures, SAOP_TASK_SIGNALS, lambda signal: signal.update(failures=6)),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "the signal of failures is gone",
        SAOP_TASK_SIGNALS,
        without(_failures, SAOP_TASK_SIGNALS),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "the signal of a begun task is gone",
        SAOP_TASK_SIGNALS,
        without(lambda signal: signal["kind"] == "begun", SAOP_TASK_SIGNALS),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "the event of an escalation is another",
        RTES_EVENTS,
        changed(_raised, RTES_EVENTS, _other_detector),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "an escalation of failures is gone",
        SAOP_ESCALATIONS,
        without(lambda escalation: escalation["detector"] == "failures", SAOP_ESCALATIONS),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "an escalation of confidence is gone",
        SAOP_ESCALATIONS,
        without(_stuck(0, "confidence"), SAOP_ESCALATIONS),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "an escalation of repetition is gone",
        SAOP_ESCALATIONS,
        without(_stuck(0, "repetition"), SAOP_ESCALATIONS),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "an escalation amid rewinds has other figures",
        SAOP_ESCALATIONS,
        changed(_stuck(1, "confidence"), SAOP_ESCALATIONS, _steeper),
        frozenset({Anomaly.OUTPUT}),
    ),
    ("an escalation is there twice", SAOP_ESCALATIONS, _twice, frozenset({Anomaly.OUTPUT})),
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
    ("topic", "change", "expected"),
    [fault[1:] for fault in FAULTS],
    ids=[fault[0] for fault in FAULTS],
)
def test_a_fault_is_found_and_named(
    recording: Told, view: View, topic: Topic, change: Change, expected: frozenset[Anomaly]
) -> None:
    violations = report(Spoiled(recording, topic, change), recording, view)
    assert expected <= {one.anomaly for one in violations}, render_violations(violations)


def test_every_anomaly_is_named_by_some_fault() -> None:
    """Those of this file, and those that are put into workers (`tests.chaos`)."""
    assert {name for *_, names in FAULTS for name in names} == set(Anomaly)
