"""Turn envelopes and rewind commands: every rule of their shape, and their hashes."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import decode, encode, from_json, saop, to_json, validate
from schemas.rules import Stage
from schemas.saop import rules
from schemas.saop.validate import PHASES
from tests.unit.schemas import examples
from tests.unit.schemas.strategies import values

TURN = "headrace.saop.SaopTurn"
REWIND = "headrace.saop.SaopRewind"
VALID = examples.valid("saop")
COMMANDS = examples.valid("saop/rewinds")
SHAPE = {rule.code for rule in rules.ALL if rule.stage is Stage.SCHEMA}


def problems_of(turn: object, **options: bool) -> list[tuple[str, str]]:
    return [(problem.rule, problem.path) for problem in saop.validate_turn(turn, **options)]


def rewind_problems_of(command: object) -> list[tuple[str, str]]:
    return [(problem.rule, problem.path) for problem in saop.validate_rewind(command)]


def changed(place: str, value: Any) -> dict[str, Any]:
    turn = copy.deepcopy(VALID["turn"])
    *owners, name = place.split(".")
    inner = turn
    for owner in owners:
        inner = inner[owner]
    inner[name] = value
    return turn


@pytest.mark.parametrize("name", VALID)
def test_valid_turns_are_valid_at_the_edge_and_as_avro(name: str) -> None:
    assert validate("saop.turn", VALID[name]) == []
    value = decode(encode(TURN, from_json(TURN, VALID[name])), TURN).value
    assert saop.turn_json(value) == VALID[name]
    assert saop.validate_turn(saop.turn_json(value), avro=True) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_valid_commands_are_valid_at_the_edge_and_as_avro(name: str) -> None:
    assert validate("saop.rewind", COMMANDS[name]) == []
    value = decode(encode(REWIND, from_json(REWIND, COMMANDS[name])), REWIND).value
    as_json = to_json(REWIND, value)
    assert as_json == COMMANDS[name]
    assert saop.validate_rewind({"task_id": None, "git_hash": None, "reason": None} | as_json) == []
    assert saop.validate_rewind(as_json) == []


def test_the_models_read_each_example() -> None:
    for turn in VALID.values():
        assert saop.Turn.model_validate(turn).json_form() == turn
    for command in COMMANDS.values():
        assert saop.Rewind.model_validate(command).json_form() == command


@pytest.mark.parametrize("name", examples.invalid("saop"))
def test_each_invalid_turn_breaks_its_rule_at_its_path(name: str) -> None:
    case = examples.invalid("saop")[name]
    assert problems_of(case["turn"]) == [(case["rule"], case["path"])]


@pytest.mark.parametrize("name", examples.invalid("saop/rewinds"))
def test_each_invalid_command_breaks_its_rule_at_its_path(name: str) -> None:
    case = examples.invalid("saop/rewinds")[name]
    assert rewind_problems_of(case["command"]) == [(case["rule"], case["path"])]


def test_every_rule_of_the_shape_has_an_invalid_example() -> None:
    folders = ("saop", "saop/rewinds", "saop/controls")
    example_rules = {
        case["rule"] for folder in folders for case in examples.invalid(folder).values()
    }
    assert SHAPE - {"json_invalid"} == example_rules


@pytest.mark.parametrize("name", examples.invalid("saop/controls"))
def test_each_invalid_control_breaks_its_rule_at_its_path(name: str) -> None:
    case = examples.invalid("saop/controls")[name]
    problems = [(each.rule, each.path) for each in saop.validate_control(case["command"])]
    assert problems == [(case["rule"], case["path"])]


@pytest.mark.parametrize("command", examples.valid("saop/controls").values())
def test_valid_controls_are_valid_at_the_edge_and_as_avro(command: dict[str, Any]) -> None:
    record = "headrace.saop.SaopControl"
    value = decode(encode(record, from_json(record, command)), record).value
    assert to_json(record, value) == command
    assert validate("saop.control", command) == saop.validate_control(command) == []
    assert saop.Control.model_validate(command).action == command["action"]


@pytest.mark.parametrize("name", ["session_id", "task_id", "git_hash", "requested_by"])
def test_a_text_of_a_command_that_is_kept_in_rows_is_short(name: str) -> None:
    command = next(each for each in COMMANDS.values() if each["phase"] == "prepare")
    target = {
        "task_id": None,
        "git_hash": None,
        "git_hash" if name == "git_hash" else "task_id": "t",
    }
    long = command | target | {name: "x" * 257}
    assert rewind_problems_of(long) == [("schema_invalid", f"/{name}")]
    assert rewind_problems_of(long | {name: "x" * 256}) == []


def test_problems_come_in_the_order_of_the_specs_table() -> None:
    turn = {"metadata": {"confidence": 2, "version": 1}, "content": {}, "agent_id": "poet"}
    assert problems_of(turn) == [
        ("schema_invalid", "/turn_index"),
        ("agent_unknown", "/agent_id"),
        ("schema_invalid", "/role"),
        ("schema_invalid", "/content/thought"),
        ("schema_invalid", "/content/action"),
        ("schema_invalid", "/content/observation"),
        ("schema_invalid", "/metadata/version"),
        ("schema_invalid", "/metadata/task_id"),
        ("schema_invalid", "/metadata/timestamp"),
        ("confidence_out_of_range", "/metadata/confidence"),
        ("schema_invalid", "/metadata/estimated_complexity"),
    ]


@pytest.mark.parametrize("value", [None, 5, [], "x"])
def test_what_is_no_object_is_schema_invalid(value: object) -> None:
    assert problems_of(value) == rewind_problems_of(value) == [("schema_invalid", "")]


@pytest.mark.parametrize(
    ("place", "value", "rule"),
    [
        ("turn_index", True, "schema_invalid"),
        ("turn_index", None, "schema_invalid"),
        ("turn_index", 2**53, "turn_index_invalid"),
        ("turn_index", 0.5, "turn_index_invalid"),
        ("turn_index", math.inf, "turn_index_invalid"),
        ("role", 1, "schema_invalid"),
        ("content", None, "schema_invalid"),
        ("metadata", [], "schema_invalid"),
        ("metadata.version", "1.0.0 ", "version_unsupported"),
        ("metadata.version", 1, "schema_invalid"),
        ("metadata.task_id", "\udfff", "text_invalid"),
        ("metadata.timestamp", "2026-05-04T08:00:00.Z", "timestamp_invalid"),
        ("metadata.timestamp", 0, "schema_invalid"),
        ("metadata.confidence", -0.01, "confidence_out_of_range"),
        ("metadata.confidence", math.nan, "confidence_out_of_range"),
        ("metadata.confidence", 10**400, "confidence_out_of_range"),
        ("metadata.confidence", "0.5", "schema_invalid"),
        ("metadata.confidence", True, "schema_invalid"),
        ("metadata.confidence", "NaN", "schema_invalid"),
        ("metadata.estimated_complexity", "Low", "complexity_unknown"),
    ],
)
def test_a_member_of_the_wrong_form(place: str, value: Any, rule: str) -> None:
    assert problems_of(changed(place, value)) == [(rule, "/" + place.replace(".", "/"))]


@pytest.mark.parametrize("value", [4, 4.0, 2**53 - 1, 0])
def test_an_integral_number_is_a_turn_index_however_it_is_written(value: float) -> None:
    assert problems_of(changed("turn_index", value)) == []


def test_a_non_finite_double_of_avro_is_out_of_range() -> None:
    value = from_json(TURN, VALID["turn"])
    value["metadata"]["confidence"] = math.nan
    assert problems_of(saop.turn_json(value), avro=True) == [
        ("confidence_out_of_range", "/metadata/confidence")
    ]


def test_messages_never_quote_a_value() -> None:
    secret = "hunter2-hunter2"
    turn = changed("metadata", dict.fromkeys(VALID["turn"]["metadata"], secret))
    turn |= {"turn_index": secret, "agent_id": secret, "role": secret, "content": secret}
    problems = saop.validate_turn(turn)
    assert len(problems) == 8
    assert not any(secret in problem.message for problem in problems)


def test_unknown_members_pass_and_are_dropped_and_counted() -> None:
    turn = changed("content.mood", {"a": [1, 2]})
    turn |= {"origin": "apc"}
    turn["metadata"]["note"] = None
    assert problems_of(turn) == []
    clean, dropped = saop.drop_unknown_turn(turn)
    assert (clean, dropped) == (VALID["turn"], 3)
    assert saop.drop_unknown_turn(clean) == (clean, 0)
    assert saop.drop_unknown_turn([1]) == ([1], 0)
    assert saop.drop_unknown_turn({"content": 1}) == ({"content": 1}, 0)
    assert saop.drop_unknown_rewind({**COMMANDS["apply"], "x": 1}) == (COMMANDS["apply"], 1)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("names", [(), ("task_id",), ("git_hash",), ("task_id", "git_hash")])
def test_what_a_phase_names(phase: str, names: tuple[str, ...]) -> None:
    command = {**COMMANDS["apply"], "task_id": None, "phase": phase} | dict.fromkeys(names, "5c0f")
    expected = 1 if phase in ("prepare", "apply") else 0
    assert (rewind_problems_of(command) == []) is (len(names) == expected)


def test_the_hash_of_a_turn_is_over_all_it_says() -> None:
    hashes = {saop.turn_hash(turn) for turn in VALID.values()}
    assert len(hashes) == len(VALID)
    assert saop.turn_hash(changed("turn_index", 0.0)) == saop.turn_hash(VALID["turn"])


def test_the_hash_of_a_command_folds_its_id_and_nothing_else() -> None:
    value = from_json(REWIND, COMMANDS["apply"])
    shouted = {**value, "rewind_id": value["rewind_id"].upper()}
    assert saop.rewind_hash(shouted) == saop.rewind_hash(value)
    assert saop.rewind_hash({**value, "requested_by": "lee"}) != saop.rewind_hash(value)


@given(values(TURN))
def test_any_avro_turn_gets_known_rules(value: dict[str, Any]) -> None:
    assert {
        problem.rule for problem in saop.validate_turn(saop.turn_json(value), avro=True)
    } <= SHAPE


@given(values(REWIND), st.booleans())
def test_any_avro_command_gets_known_rules(value: dict[str, Any], lapse: bool) -> None:
    command = to_json(REWIND, value) | ({"phase": "lapse"} if lapse else {})
    assert {problem.rule for problem in saop.validate_rewind(command)} <= SHAPE
