"""The Entropy Detector: each row of the table of 4.2, episodes, and a second opinion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from schemas import sha256_hex
from schemas.saop import rules
from streams.protocols.saop.processor.detectors import OUTCOMES, slope_of
from tests.unit.protocols.saop.processor.support import (
    START_MS,
    Bench,
    Sent,
    derived,
    envelope,
    signal,
)
from topology.core import RTES_RAW
from topology.saop import SAOP_DETECTORS, SAOP_ESCALATIONS

RULES = (
    rules.CONFIDENCE_SLOPE,
    rules.CONFIDENCE_DROP,
    rules.OBSERVATION_REPEATED,
    rules.FAILURES_REACHED,
)
FALLING = (0.82, 0.80, 0.71, 0.66, 0.58)
EMPTY: dict[str, Any] = {
    "session_id": None,
    "turn_indexes": [],
    "confidences": [],
    "slope": None,
    "decline": None,
    "observation_sha256": None,
    "run_length": None,
    "failures": None,
    "first_sequence": None,
    "last_sequence": None,
    "enforced": False,
}


def escalations_of(
    bench: Bench, confidences: Sequence[float], start: int = 0, **members: Any
) -> list[Sent]:
    """The escalations of one agent's turns."""
    escalations = []
    for index, confidence in enumerate(confidences, start):
        sent = bench.decide(bench.turn(envelope(index, confidence=confidence, **members)))
        escalations += bench.of(SAOP_ESCALATIONS, sent)
    return escalations


def test_the_worked_example() -> None:
    bench = Bench()
    (sent,) = escalations_of(bench, FALLING)
    assert sent.value == EMPTY | {
        "escalation_id": derived("saop.turns/0/4", 2),
        "task_id": "t1",
        "agent_id": "developer",
        "turn_index": 4,
        "detector": "confidence",
        "rules": ["confidence_slope"],
        "outcome": "review",
        "turn_indexes": [0, 1, 2, 3, 4],
        "confidences": list(FALLING),
        "slope": -0.062,
        "thresholds": {"window": 5.0, "slope": -0.05, "ceiling": 0.6},
        "at": START_MS,
        "cause": "saop.turns/0/4",
    }
    assert (sent.id, sent.key) == (sent.value["escalation_id"], "t1")
    assert slope_of([*FALLING[1:], 0.60]) == -0.053
    assert escalations_of(bench, [0.60], 5) == []
    row = bench.row(SAOP_DETECTORS, "t1/developer")
    assert row is not None
    assert row["confidence_open"]
    assert slope_of([0.71, 0.66, 0.58, 0.60, 0.74]) == 0.0
    assert escalations_of(bench, [0.74], 6) == []
    row = bench.row(SAOP_DETECTORS, "t1/developer")
    assert row is not None
    assert not row["confidence_open"]

    (other,) = escalations_of(bench, [0.93, 0.85, 0.77, 0.66], 7, agent_id="reviewer")
    assert (other.value["rules"], other.value["decline"]) == (["confidence_drop"], 0.27)
    assert other.value["turn_indexes"] == [7, 8, 9, 10]
    assert other.value["slope"] is None
    assert other.value["thresholds"] == {"declines": 3.0, "drop": 0.25}


def test_both_rules_of_confidence_make_one_escalation_with_the_wider_window() -> None:
    (sent,) = escalations_of(Bench(), [0.8, 0.8, 0.7, 0.6, 0.55])
    assert sent.value["rules"] == ["confidence_slope", "confidence_drop"]
    assert sent.value["turn_indexes"] == [0, 1, 2, 3, 4]
    assert (sent.value["slope"], sent.value["decline"]) == (-0.07, 0.25)
    assert set(sent.value["thresholds"]) == {"window", "slope", "ceiling", "declines", "drop"}


@pytest.mark.parametrize(
    ("confidences", "expected"),
    [
        ((0.8, 0.75, 0.7, 0.65, 0.6), ["confidence_slope"]),  # -0.05 and 0.6 to the digit
        ((0.8, 0.75, 0.7, 0.65, 0.6000000001), []),
        ((0.8, 0.749, 0.7, 0.65, 0.6), []),  # -0.0499
        ((0.7, 0.6, 0.5, 0.4), ["confidence_drop"]),
        ((0.65, 0.6, 0.5, 0.4), ["confidence_drop"]),  # 0.25 to the digit
        ((0.64, 0.6, 0.5, 0.4), []),
        ((0.7, 0.6, 0.6, 0.4), []),
        ((0.9, 0.5, 0.4), []),
        ((0.0, 0.0, 0.0, 0.0, 0.0), []),
    ],
)
def test_the_bounds_of_confidence(confidences: tuple[float, ...], expected: list[str]) -> None:
    sent = escalations_of(Bench(), confidences)
    assert [rule for one in sent for rule in one.value["rules"]] == expected


def test_repetition() -> None:
    bench = Bench()
    sent = escalations_of(bench, [0.9] * 5, observation="again ✓")
    (one,) = [each.value for each in sent]
    assert one == EMPTY | {
        "escalation_id": derived("saop.turns/0/2", 2),
        "task_id": "t1",
        "agent_id": "developer",
        "turn_index": 2,
        "detector": "repetition",
        "rules": ["observation_repeated"],
        "outcome": "strategy_pivot",
        "turn_indexes": [0, 1, 2],
        "observation_sha256": sha256_hex("again ✓".encode()),
        "run_length": 3,
        "thresholds": {"repeats": 3.0},
        "at": START_MS,
        "cause": "saop.turns/0/2",
    }


@pytest.mark.parametrize(
    ("observations", "escalated"),
    [
        ("aaa", [2]),
        ("aabaa", []),
        ("aaaaaa", [2]),
        ("aaabaaa", [2, 6]),
        ("aaabbb", [2, 5]),
        ("aa aa", []),
        ("aaa aaa", [2, 6]),
        ("     ", []),
    ],
)
def test_a_run_ends_with_another_observation_or_an_empty_one(
    observations: str, escalated: list[int]
) -> None:
    bench = Bench()
    for index, text in enumerate(observations):
        bench.rule(envelope(index, observation=text.strip()))
    assert [one["turn_index"] for one in bench.escalations()] == escalated


def test_gaps_and_other_agents_do_not_break_a_run() -> None:
    bench = Bench()
    for index, agent in enumerate(["developer", "reviewer"] * 2):
        bench.rule(envelope(index, agent_id=agent, observation=agent))
    bench.rule(envelope(9, observation="developer"))
    assert bench.escalations() == []
    bench.advance(60_000)
    (one,) = bench.escalations()
    assert (one["turn_indexes"], one["at"]) == ([0, 2, 9], START_MS + 60_000)


def test_another_tasks_turns_are_another_matter() -> None:
    bench = Bench()
    for task in ("a", "b"):
        bench.rule(envelope(0, task=task, observation="x"))
        bench.rule(envelope(1, task=task, observation="x"))
    assert bench.escalations() == []


def test_both_detectors_at_one_turn_confidence_first() -> None:
    bench = Bench()
    escalations_of(bench, [0.9, 0.9])
    sent = escalations_of(bench, [0.8, 0.7, 0.6], 2, observation="x")
    assert [one.value["detector"] for one in sent] == ["confidence", "repetition"]
    assert [one.id for one in sent] == [derived("saop.turns/0/4", n) for n in (2, 3)]


def test_failures_are_reported_as_the_signal_says() -> None:
    bench = Bench()
    counts: dict[str, Any] = {
        "failures": 5,
        "threshold": 5,
        "first_sequence": 7,
        "last_sequence": 31,
    }
    (sent, edge, event) = bench.decide(bench.signal(signal("failures", **counts), START_MS + 3))
    position = "saop.task-signals/0/0"
    assert sent.value == EMPTY | {
        "escalation_id": derived(position, 0),
        "task_id": "t1",
        "session_id": "s1",
        "agent_id": None,
        "turn_index": None,
        "detector": "failures",
        "rules": ["failures_reached"],
        "outcome": "paused_for_intervention",
        "failures": 5,
        "first_sequence": 7,
        "last_sequence": 31,
        "thresholds": {"failures": 5.0},
        "at": START_MS + 3,
        "cause": position,
    }
    assert edge.value["from_node"] == f"saop:escalation:{sent.id}"
    assert (edge.value["relation"], edge.value["to_node"]) == ("evaluates", "saop:task:t1")
    assert (event.value["event_id"], event.value["session_id"]) == (sent.id, "s1")
    assert event.value["origin"] == "saop"


def test_every_detector_of_the_declaration_has_its_outcome() -> None:
    bench = Bench()
    escalations_of(bench, [0.9, 0.9, 0.8, 0.7, 0.6], observation="x")
    bench.decide(bench.signal(signal("failures", failures=5, threshold=5)))
    assert {one["detector"]: one["outcome"] for one in bench.escalations()} == OUTCOMES
    named = {rule for one in bench.escalations() for rule in one["rules"]}
    assert named == {rule.code for rule in RULES}


def test_a_rewound_task_is_watched_anew() -> None:
    bench = Bench()
    escalations_of(bench, [0.7, 0.6, 0.5], observation="x")
    escalations_of(bench, [0.7, 0.6, 0.5], 3, observation="x", agent_id="reviewer")
    escalations_of(bench, [0.7, 0.6, 0.5], 0, observation="x", task="t2")
    assert len(bench.escalations()) == 3
    assert bench.decide(bench.signal(signal("rewound", rewind_id="r"))) == []
    assert list(bench.rows(SAOP_DETECTORS)) == ["t2/developer"]
    assert escalations_of(bench, [0.4, 0.3], 6, observation="x") == []
    (again,) = escalations_of(bench, [0.2], 8, observation="x")
    assert again.value["turn_indexes"] == [6, 7, 8]


def test_a_turn_whose_time_was_up_before_the_rewind_is_forgotten_with_it() -> None:
    bench = Bench()
    escalations_of(bench, [0.9, 0.9], observation="x")
    bench.rule(envelope(5, observation="x"))
    bench.decide(bench.signal(signal("rewound"), START_MS + 60_001))
    assert bench.logged() == [0, 1, 5]
    assert [one["turn_index"] for one in bench.escalations()] == [5]
    assert bench.rows(SAOP_DETECTORS) == {}


def test_a_turn_whose_time_was_up_before_its_task_began_is_not_in_that_session() -> None:
    bench = Bench()
    escalations_of(bench, [0.9, 0.9], observation="x")
    bench.rule(envelope(5, observation="x"))
    bench.decide(bench.signal(signal("begun"), START_MS + 60_001))
    escalations_of(bench, [0.9, 0.9, 0.9], 6, observation="y")
    assert [event.value["session_id"] for event in bench.of(RTES_RAW)] == ["t1", "s1"]


def test_the_thresholds_are_settings_and_are_told() -> None:
    bench = Bench(saop_repeats=2, saop_confidence_declines=1, saop_confidence_window=2)
    sent = escalations_of(bench, [0.9, 0.5], observation="x")
    assert [one.value["thresholds"] for one in sent] == [
        {"window": 2, "slope": -0.05, "ceiling": 0.6, "declines": 1, "drop": 0.25},
        {"repeats": 2},
    ]
    assert [one.value["slope"] for one in sent] == [-0.4, None]
