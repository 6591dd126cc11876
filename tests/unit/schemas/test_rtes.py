from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from hypothesis import given

from schemas import decode, encode, from_json, rtes, validate
from schemas.rtes import rules
from schemas.rules import Stage
from tests.unit.schemas import examples
from tests.unit.schemas.strategies import values

EVENT = "headrace.rtes.RtesEvent"
VALID = examples.valid("rtes")
CODES = {rule.code for rule in rules.ALL if rule.stage is Stage.SCHEMA}


def problems_of(event: object, **options: bool) -> list[tuple[str, str]]:
    return [(problem.rule, problem.path) for problem in rtes.validate_event(event, **options)]


def changed(name: str, **members: Any) -> dict[str, Any]:
    event = copy.deepcopy(VALID[name])
    event["payload"].update(members)
    return event


@pytest.mark.parametrize("name", VALID)
def test_valid_examples_are_valid_at_the_edge_as_avro_and_as_payload(name: str) -> None:
    assert validate("rtes.event", VALID[name]) == []
    assert validate("rtes.payload", VALID[name]["payload"]) == []
    value = decode(encode(EVENT, from_json(EVENT, VALID[name])), EVENT).value
    assert rtes.event_json(value) == VALID[name]
    assert rtes.validate_event(rtes.event_json(value), avro=True) == []


@pytest.mark.parametrize("name", VALID)
def test_the_model_reads_each_example(name: str) -> None:
    assert rtes.Event.model_validate(VALID[name]).json_form() == VALID[name]


@pytest.mark.parametrize("name", examples.invalid("rtes"))
def test_each_invalid_example_breaks_its_rule_at_its_path(name: str) -> None:
    case = examples.invalid("rtes")[name]
    assert problems_of(case["event"]) == [(case["rule"], case["path"])]


def test_every_rule_of_the_shape_has_an_invalid_example() -> None:
    example_rules = {case["rule"] for case in examples.invalid("rtes").values()}
    assert CODES - {"json_invalid"} == example_rules


def test_problems_come_in_the_order_of_the_specs_tables() -> None:
    event = {"payload": {"type": "TASK_TRANSITION", "timestamp": 1, "task_id": 2}, "event_id": ""}
    assert problems_of(event) == [
        ("event_id_invalid", "/event_id"),
        ("schema_invalid", "/session_id"),
        ("schema_invalid", "/payload/task_id"),
        ("schema_invalid", "/payload/from_state"),
        ("schema_invalid", "/payload/to_state"),
        ("schema_invalid", "/payload/timestamp"),
    ]


@pytest.mark.parametrize("value", [None, 5, [], "x"])
def test_what_is_no_object_is_schema_invalid(value: object) -> None:
    assert problems_of(value) == [("schema_invalid", "")]
    assert problems_of({**VALID["task_transition"], "payload": value}) == [
        ("schema_invalid", "/payload")
    ]


@pytest.mark.parametrize(
    ("name", "member", "value", "rule"),
    [
        ("thought_stream", "turn_index", "3", "schema_invalid"),
        ("thought_stream", "turn_index", True, "schema_invalid"),
        ("thought_stream", "turn_index", 2**53, "turn_index_invalid"),
        ("thought_stream", "turn_index", 0.5, "turn_index_invalid"),
        ("thought_stream", "turn_index", math.inf, "turn_index_invalid"),
        ("thought_stream", "turn_index", math.nan, "turn_index_invalid"),
        ("thought_stream", "is_final", 1, "schema_invalid"),
        ("thought_stream", "agent_id", 1, "schema_invalid"),
        ("thought_stream", "chunk", "\ud800", "text_invalid"),
        ("tool_lifecycle_completed", "duration_ms", math.inf, "duration_invalid"),
        ("tool_lifecycle_completed", "duration_ms", 10**400, "duration_invalid"),
        ("tool_lifecycle_completed", "duration_ms", "NaN", "schema_invalid"),
        ("tool_lifecycle_invoked", "arguments", [], "schema_invalid"),
        ("tool_lifecycle_invoked", "arguments", {"a": math.inf}, "schema_invalid"),
        ("tool_lifecycle_invoked", "arguments", {"a": "\ud800"}, "text_invalid"),
        ("task_transition", "type", None, "schema_invalid"),
        ("task_transition", "type", [], "schema_invalid"),
        ("sandbox_pulse", "masked", None, "schema_invalid"),
        ("tool_lifecycle_invoked", "call_id", "c" * 1025, "schema_invalid"),
        ("tool_lifecycle_completed", "call_id", "c" * 1025, "schema_invalid"),
        ("task_transition", "task_id", "t" * 257, "schema_invalid"),
        ("task_transition", "from_state", "s" * 257, "schema_invalid"),
        ("task_transition", "to_state", "s" * 257, "schema_invalid"),
        ("task_transition", "git_hash", "0" * 257, "schema_invalid"),
    ],
)
def test_a_member_of_the_wrong_form(name: str, member: str, value: Any, rule: str) -> None:
    assert problems_of(changed(name, **{member: value})) == [(rule, f"/payload/{member}")]


@pytest.mark.parametrize("value", [4, 4.0, 2**53 - 1, 0])
def test_an_integral_number_is_a_turn_index_however_it_is_written(value: float) -> None:
    assert problems_of(changed("thought_stream", turn_index=value)) == []


def test_non_finite_doubles_of_avro_are_invalid_durations() -> None:
    value = from_json(EVENT, VALID["tool_lifecycle_completed"])
    value["payload"][1]["duration_ms"] = math.nan
    event = rtes.event_json(value)
    assert problems_of(event, avro=True) == [("duration_invalid", "/payload/duration_ms")]


def test_messages_never_quote_a_value() -> None:
    secret = "hunter2-hunter2"
    event = changed("tool_lifecycle_completed", status=secret, timestamp=secret, tool=[secret])
    problems = rtes.validate_event({**event, "event_id": secret})
    assert len(problems) == 4
    assert not any(secret in problem.message for problem in problems)


def test_unknown_members_pass_and_are_dropped_and_counted() -> None:
    event = changed("tool_lifecycle_invoked", extra={"a": [1, 2]}, arguments={"kept": {"x": 1}})
    event |= {"origin": "apc", "note": 1}
    assert problems_of(event) == []
    clean, dropped = rtes.drop_unknown(event)
    assert dropped == 3
    assert clean["payload"]["arguments"] == {"kept": {"x": 1}}
    assert set(clean) == {"event_id", "session_id", "payload"}
    assert rtes.drop_unknown(clean) == (clean, 0)
    assert rtes.drop_unknown([1]) == ([1], 0)


def test_the_content_hash_folds_the_event_id_and_nothing_else() -> None:
    event = VALID["task_transition"]
    shouted = {**event, "event_id": event["event_id"].upper()}
    assert rtes.content_hash(shouted) == rtes.content_hash(event)
    other = changed("task_transition", git_hash="5C0FFEE")
    assert rtes.content_hash(other) != rtes.content_hash(event)


@given(values(EVENT))
def test_any_avro_event_gets_known_rules(value: dict[str, Any]) -> None:
    event = rtes.event_json(value)
    assert {problem.rule for problem in rtes.validate_event(event, avro=True)} <= CODES
    rtes.drop_unknown(event)
