"""Schemas of strangers take bounded work, and the engines agree (Summit guide, 2.6)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from schemas import canonical_json, summit
from schemas.json_schema.cost import BEYOND, cost_of, values_in
from schemas.json_schema.graph import graph_of
from schemas.summit.manifest_schema import GIVEN_UP, Schema, schema_problems
from tests.examples import example_count
from tests.unit.schemas.strategies import JSON
from tests.unit.schemas.summit_support import OBJECT, errors, member, problems, schema


def test_defaults_do_not_blow_a_value_up() -> None:
    items = {"properties": {"x": {"default": "x" * 1000}}}
    compiled = schema(**member(items=items))
    assert len(compiled.filled({"x": [{}] * 250})["x"]) == 250
    with pytest.raises(summit.DefaultsTooLarge):
        compiled.filled({"x": [{}] * 262})


def doubling(levels: int) -> dict[str, Any]:
    """Each level refers to the next one twice."""
    defs: dict[str, Any] = {
        f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(levels)
    }
    return {**OBJECT, "$ref": "#/$defs/d0", "$defs": {**defs, f"d{levels}": {}}}


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


TREE = {**OBJECT, "properties": {"l": {"$ref": "#"}, "r": {"$ref": "#"}, "n": {"type": "number"}}}


TWICE = {
    **OBJECT,
    "properties": {"a": {"$ref": "#"}},
    "allOf": [{"properties": {"a": {"$ref": "#"}}}],
}


def cost(made: dict[str, Any]) -> int:
    return cost_of(graph_of(json.loads(canonical_json(made))))


def test_costs_are_told_beforehand() -> None:
    assert cost(member(minimum=1)) == 2
    assert cost(TREE) < 1000
    assert 2**10 < cost(doubling(10)) < 2**13
    assert cost(doubling(60)) == cost(TWICE) == BEYOND
    assert cost({**OBJECT, "properties": {"x": {"$dynamicRef": "#"}}}) == BEYOND
    assert values_in({"a": [1, {"b": None}], "c": "x"}) == 6


@pytest.mark.parametrize("made", [doubling(60), TWICE])
def test_a_schema_that_takes_too_long_is_given_up(
    made: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("schemas.json_schema.keywords.MOST_STEPS", 5000)
    schema_errors = schema(**made).errors(nested(50), "/params/inputs")
    assert schema_errors == [{"path": "/params/inputs", "keyword": GIVEN_UP}]


def test_a_costly_schema_is_kept_to_where_it_can_be() -> None:
    assert schema(**TWICE).errors(nested(4), "") == []
    assert schema(**TWICE).errors({"a": 1}, "") == [{"path": "/a", "keyword": "type"}]


def chain(levels: int, keyword: str | None = None) -> dict[str, Any]:
    """Each level refers to the next one."""
    refs: list[Any] = [{"$ref": f"#/$defs/d{i + 1}"} for i in range(levels)]
    defs = {f"d{i}": {keyword: [ref]} if keyword else ref for i, ref in enumerate(refs)}
    return {**OBJECT, "$ref": "#/$defs/d0", "$defs": {**defs, f"d{levels}": {}}}


@pytest.mark.parametrize("keyword", [None, "allOf", "anyOf"])
def test_a_schema_that_leads_too_deep_is_refused(keyword: str | None) -> None:
    assert problems(chain(300, keyword)) == []
    assert errors({}, **chain(300, keyword)) == []
    assert problems(chain(6000, keyword)) == [("schema", "/s")]


def test_a_schema_that_leads_too_deep_in_a_deep_value_is_refused() -> None:
    defs = chain(30, "anyOf")["$defs"]
    again = {**OBJECT, "properties": {"a": {"$ref": "#/$defs/d0"}}}
    made = {**OBJECT, "$ref": "#/$defs/d0", "$defs": {**defs, "d30": again}}
    assert problems(made) == [("schema", "/s")]


def test_recursion_is_no_reason_to_give_up() -> None:
    tree: Any = {"n": 1}
    for _ in range(50):
        tree = {"l": tree, "n": 0}
    assert schema(**TREE).errors(tree, "") == []


NAMES = ["a", "ab", "b"]


VALUES = st.recursive(
    st.sampled_from([None, True, 0, 1, 1.0, 2, "a", "ab", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=6,
)


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    named = st.dictionaries(st.sampled_from(NAMES), inner, max_size=2)
    some = st.lists(inner, min_size=1, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "array", "string", "integer"]),
            "properties": named,
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$"]), inner, max_size=2),
            "additionalProperties": inner,
            "unevaluatedProperties": inner,
            "dependentSchemas": named,
            "dependentRequired": st.just({"a": ["b"]}),
            "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
            "propertyNames": inner,
            "items": inner,
            "prefixItems": some,
            "contains": inner,
            "allOf": some,
            "anyOf": some,
            "oneOf": some,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "enum": st.just([1, "a", {"a": 1}]),
            "const": st.just(1),
            "minimum": st.just(1),
            "maxLength": st.just(1),
            "uniqueItems": st.just(True),
            "$ref": st.just("#/$defs/d"),
        },
    )


SCHEMAS: st.SearchStrategy[Any] = st.recursive(st.booleans() | st.just({}), _schemas, max_leaves=8)


@settings(max_examples=example_count(150), deadline=None)
@given(SCHEMAS, VALUES)
def test_both_engines_say_what_jsonschema_says(inner: Any, value: Any) -> None:
    made = {**member(allOf=[inner]), "$defs": {"d": {"type": "string"}}}
    expected = Draft202012Validator(made).is_valid({"x": value})
    compiled = Schema(json.loads(json.dumps(made)))
    assert (not compiled.errors({"x": value}, "")) is expected
    assert (not compiled._counted({"x": value}, "")) is expected


@settings(max_examples=example_count(150), deadline=None)
@given(st.dictionaries(st.sampled_from(["type", *NAMES]), SCHEMAS | JSON, max_size=3), JSON)
def test_any_object_is_taken_or_refused(made: Any, value: Any) -> None:
    made = {**OBJECT, "properties": made, **made}
    if not schema_problems(made, ("s",)):
        compiled = summit.schema_of(json.dumps(made))
        schema_errors = compiled.errors(compiled.filled({"a": value}), "/x")
        assert schema_errors == sorted(schema_errors, key=lambda e: (e["path"], e["keyword"]))
