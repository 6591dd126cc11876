"""The scenarios of turns: what the spec says of each, with restarts in between and without."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from streams.play.scenario import play
from streams.settings import Settings

Json = dict[str, Any]
SCENARIOS = Path(__file__).resolve().parents[5] / "scenarios"
TRACE = "trace:0af7651916cd43dd8448eb211c80319c"


class Expected(NamedTuple):
    """rules: of all verdicts.  refused: rules of the edge.  log: task, indexes, holes.
    escalations: detector, rules, turn indexes.  letters: why records became dead letters."""

    rules: list[str]
    log: dict[str, tuple[list[int], list[tuple[int, int, int, str]]]]
    escalations: list[tuple[str, list[str], list[int]]]
    refused: list[str]
    letters: list[str]


def _expected(
    rules: str,
    log: dict[str, tuple[list[int], list[tuple[int, int, int, str]]]],
    escalations: list[tuple[str, list[str], list[int]]] | None = None,
    refused: str = "",
    letters: str = "",
) -> Expected:
    return Expected(rules.split(), log, escalations or [], refused.split(), letters.split())


EXPECTED = {
    "saop-order": _expected(
        "turn_logged turn_held turn_held turn_logged turn_held turn_late turn_duplicate"
        " turn_conflict turn_too_far turn_held turn_logged",
        {"paint-7": ([0, 1, 2, 3, 6, 7, 1007], [(6, 4, 5, "time"), (1007, 8, 1006, "time")])},
    ),
    "saop-crowd": _expected(
        "turn_logged " + "turn_held " * 65 + "turn_late",
        {
            "wall-1": (
                [0, 3, 4, *range(10, 72), 80],
                [(3, 1, 2, "count"), (10, 5, 9, "time"), (80, 72, 79, "time")],
            )
        },
    ),
    "saop-pauses": _expected("task_paused turn_logged", {"A": ([0], [])}),
    "saop-detectors": _expected(
        "turn_logged " * 21,
        {"fix-1": (list(range(11)), []), "loop-1": (list(range(10)), [])},
        [
            ("confidence", ["confidence_slope"], [0, 1, 2, 3, 4]),
            ("confidence", ["confidence_drop"], [7, 8, 9, 10]),
            ("repetition", ["observation_repeated"], [0, 1, 2]),
            ("repetition", ["observation_repeated"], [7, 8, 9]),
            ("failures", ["failures_reached"], []),
        ],
    ),
    "saop-failures": _expected(
        "turn_logged " * 5,
        {"fix-2": ([0, 1, 2, 3, 4], [])},
        [
            ("failures", ["failures_reached"], []),
            ("failures", ["failures_reached"], []),
            ("repetition", ["observation_repeated"], [2, 3, 4]),
        ],
    ),
    "saop-stream": _expected(
        "turn_held turn_logged key_mismatch turn_logged turn_duplicate",
        {"trace-1": ([0, 1, 2], [])},
        letters="schema_unknown",
    ),
    "saop-bad-input": _expected(
        "turn_logged version_unsupported timestamp_invalid confidence_out_of_range"
        " turn_index_invalid key_mismatch turn_duplicate turn_conflict turn_too_far turn_held"
        " turn_late turn_logged",
        {"bad-1": ([0, 3, 4], [(3, 1, 2, "time")])},
        refused="agent_unknown version_unsupported timestamp_invalid confidence_out_of_range"
        " schema_invalid complexity_unknown schema_invalid",
        letters="frame_unknown null_value",
    ),
}


def read(name: str) -> list[Json]:
    with (SCENARIOS / f"{name}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def played(lines: list[Json]) -> list[Json]:
    """The outputs, without the numbers of the lines that caused them."""
    outputs = play([json.dumps(line) for line in lines], Settings(partitions=1))
    return [{name: part for name, part in o.items() if name != "input"} for o in outputs]


@cache
def outputs_of(name: str) -> list[Json]:
    return played(read(name))


def values(name: str, topic: str) -> list[Json]:
    return [o["value"] for o in outputs_of(name) if o.get("topic") == topic]


def test_every_scenario_of_turns_is_expected_here() -> None:
    assert {path.stem for path in SCENARIOS.glob("saop-*.jsonl")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_verdicts_are_those_of_the_spec(name: str) -> None:
    expected = EXPECTED[name]
    assert [value["rule"] for value in values(name, "saop.verdicts")] == expected.rules
    refused = [o["rejected"]["rule"] for o in outputs_of(name) if "rejected" in o]
    assert refused == expected.refused
    letters = [o["headers"] for o in outputs_of(name) if o.get("topic") == "saop.turns.dlq"]
    assert [h["kafka_dlt-exception-fqcn"] for h in letters] == expected.letters


@pytest.mark.parametrize("name", EXPECTED)
def test_every_record_gets_one_verdict_or_dead_letter(name: str) -> None:
    records = [line for line in read(name) if line.get("topic") == "saop.turns"]
    expected = EXPECTED[name]
    answers = len(expected.rules) + len(expected.refused) + len(expected.letters)
    assert answers == len(records)
    causes = [value["cause"] for value in values(name, "saop.verdicts")]
    assert len(set(causes)) == len(expected.rules)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_log_and_its_holes_are_those_of_the_spec(name: str) -> None:
    log = values(name, "saop.log")
    for task, (indexes, gaps) in EXPECTED[name].log.items():
        task_entries = [value for value in log if value["turn"]["metadata"]["task_id"] == task]
        assert [value["turn"]["turn_index"] for value in task_entries] == indexes
        named = [(v["turn"]["turn_index"], *v["gap"].values()) for v in task_entries if v["gap"]]
        assert named == gaps
    assert len(log) == sum(len(indexes) for indexes, _ in EXPECTED[name].log.values())


@pytest.mark.parametrize("name", EXPECTED)
def test_escalations_are_those_of_the_spec(name: str) -> None:
    escalations = [
        (value["detector"], value["rules"], value["turn_indexes"])
        for value in values(name, "saop.escalations")
    ]
    assert escalations == EXPECTED[name].escalations


@pytest.mark.parametrize("name", EXPECTED)
def test_restarts_do_not_matter(name: str) -> None:
    lines = read(name)
    assert any("restart" in line for line in lines)
    assert played([line for line in lines if "restart" not in line]) == outputs_of(name)


def test_the_worked_examples_times() -> None:
    at = {value["turn"]["turn_index"]: value["at"] for value in values("saop-order", "saop.log")}
    assert [at[index][11:19] for index in (0, 1, 2, 3, 6)] == [
        "12:00:00",
        "12:00:05",
        "12:00:05",
        "12:00:05",
        "12:01:10",
    ]


def test_text_and_trace_come_through_as_sent() -> None:
    sent = read("saop-stream")[0]["value"]
    (verdict, *_) = values("saop-stream", "saop.verdicts")
    logged = values("saop-stream", "saop.log")
    assert logged[1]["turn"]["content"]["thought"] == sent["content"]["thought"]
    assert (verdict["dropped_keys"], logged[1]["dropped_keys"]) == (2, 2)
    traced = [
        edge["from_node"]
        for edge in values("saop-stream", "lineage.edges")
        if (edge["relation"], edge["to_node"]) == ("same_trace", TRACE)
    ]
    assert traced == ["saop:turn:trace-1/1", "saop:turn:trace-1/2"]
    assert {value["held"] for value in logged} == {True, False}
