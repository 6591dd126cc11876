"""Keywords of our own say what those of `jsonschema` say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft201909Validator, Draft202012Validator

from schemas.json_schema.errors import NotTaken
from schemas.json_schema.validator import broken_at
from tests.examples import example_count

VALUES = st.recursive(
    st.sampled_from([None, True, 0, 1, 1.0, "a", "ab", "b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "ab", "b", "c"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    named = st.dictionaries(st.sampled_from(["a", "ab", "b"]), inner, max_size=2)
    patterns = st.dictionaries(st.sampled_from(["^a", "b$", "c|x"]), inner, max_size=2)
    some = st.lists(inner, min_size=1, max_size=2)
    return st.fixed_dictionaries(
        {"title": st.just("t")},
        optional={
            "type": st.sampled_from(["object", "array", "string"]),
            "properties": named,
            "patternProperties": patterns,
            "additionalProperties": inner,
            "unevaluatedProperties": inner,
            "dependentSchemas": named,
            "allOf": some,
            "anyOf": some,
            "oneOf": some,
            "if": inner,
            "then": inner,
            "else": inner,
            "not": inner,
            "uniqueItems": st.booleans(),
            "items": inner,
            "pattern": st.sampled_from(["a", "^b$"]),
            "required": st.just(["a"]),
            "$ref": st.just("#/$defs/x"),
        },
    )


SCHEMAS = st.recursive(st.booleans() | st.just({"type": "object"}), _schemas, max_leaves=8)
TOP = st.builds(
    lambda schema, x: {**schema, "$defs": {"x": x}},
    SCHEMAS.filter(lambda schema: isinstance(schema, dict)),
    st.sampled_from([True, False, {"properties": {"a": True}}, {"patternProperties": {"b": True}}]),
)


@settings(max_examples=example_count(250), deadline=None)
@given(TOP, VALUES)
def test_like_jsonschema(schema: Any, value: Any) -> None:
    expected = Draft202012Validator(schema).is_valid(value)
    assert (broken_at(schema, value) is None) == expected


@settings(max_examples=example_count(100), deadline=None)
@given(TOP, VALUES)
def test_like_jsonschema_2019(schema: Any, value: Any) -> None:
    """But for unevaluatedProperties, where `jsonschema` reads 2019-09 in its own way."""
    named = {"$schema": "https://json-schema.org/draft/2019-09/schema", **schema}
    if "unevaluatedProperties" in repr(schema):
        return
    expected = Draft201909Validator(named).is_valid(value)
    assert (broken_at(named, value) is None) == expected


@pytest.mark.parametrize(
    ("value", "divisor", "expected"),
    [
        (19.99, 0.01, True),
        (0.3, 0.1, True),
        (0.35, 0.1, False),
        (4.5, 1.5, True),
        (9, 3.0, True),
        (10, 3, False),
        (1e300, 1e-300, True),
        ("x", 2, True),
        (True, 2, True),
    ],
)
def test_multiples_are_decimal(value: Any, divisor: float, expected: bool) -> None:
    assert (broken_at({"multipleOf": divisor}, value) is None) == expected


def test_steps_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schemas.json_schema.keywords.MOST_STEPS", 100)
    schema = {"items": {"type": "integer"}}
    assert broken_at(schema, list(range(98))) is None
    with pytest.raises(NotTaken, match="steps"):
        broken_at(schema, list(range(200)))
