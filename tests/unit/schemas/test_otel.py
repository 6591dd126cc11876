"""Spans: every rule of their shape, and their hash."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from schemas import decode, encode, from_json, otel, validate
from schemas.otel import rules
from schemas.rules import Stage
from tests.unit.schemas import examples
from tests.unit.schemas.strategies import JSON

SPAN = "headrace.otel.OtelSpan"
VALID = examples.valid("otel")
INVALID = examples.invalid("otel")
SHAPE = {rule.code for rule in rules.ALL if rule.stage is Stage.SCHEMA}


def as_recorded(value: dict[str, Any]) -> dict[str, Any]:
    return otel.span_json(decode(encode(SPAN, from_json(SPAN, value)), SPAN).value)


@pytest.mark.parametrize("name", VALID)
def test_valid_spans_are_valid_at_the_edge_and_as_avro(name: str) -> None:
    assert validate("otel.span", VALID[name]) == []
    recorded = as_recorded(VALID[name])
    assert recorded.items() >= VALID[name].items()
    assert otel.validate_span(recorded) == []
    assert as_recorded(recorded) == recorded


def test_the_model_reads_each_example() -> None:
    for value in VALID.values():
        assert otel.Span.parse(value).json_form() == value


@pytest.mark.parametrize("name", INVALID)
def test_each_invalid_span_breaks_its_rule_at_its_path(name: str) -> None:
    case = INVALID[name]
    problems = otel.validate_span(case["span"])
    assert [(problem.rule, problem.path) for problem in problems] == [(case["rule"], case["path"])]


def test_every_rule_of_the_shape_has_an_invalid_example() -> None:
    assert SHAPE - {"json_invalid"} == {case["rule"] for case in INVALID.values()}


def test_lone_surrogates_are_found_in_every_text() -> None:
    for changes in (
        {"name": "\ud800"},
        {"status_message": "\ud800"},
        {"attributes": {"a": ["\ud800"]}},
        {"resource": {"\ud800": 1}},
        {"events": [{"name": "\ud800"}]},
    ):
        problems = otel.validate_span({**VALID["tool"], **changes})
        assert [problem.rule for problem in problems] == ["text_invalid"]


def test_the_hash_is_of_what_the_span_says_and_not_of_its_request() -> None:
    recorded = as_recorded(VALID["tool"])
    digest = otel.span_hash(recorded)
    assert otel.span_hash({**recorded, "session_hint": "s", "masked": 2}) == digest
    assert otel.span_hash({**recorded, "name": "another"}) != digest


def test_unknown_members_are_dropped_and_counted() -> None:
    assert otel.drop_unknown({**VALID["tool"], "new": 1}) == (VALID["tool"], 1)
    assert otel.drop_unknown([1]) == ([1], 0)


@given(value=JSON)
def test_any_value_is_judged(value: Any) -> None:
    for each in (value, {**VALID["tool"], "attributes": value}, {**VALID["tool"], "name": value}):
        assert all(problem.rule in SHAPE for problem in otel.validate_span(each))
