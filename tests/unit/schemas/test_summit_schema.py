"""Schemas in manifests: what is taken, defaults, errors (Summit guide, 2.6)."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from schemas import summit
from schemas.summit.manifest_schema import Schema
from tests.unit.schemas.summit_support import OBJECT, errors, member, problems, schema


@pytest.mark.parametrize(
    "taken",
    [
        OBJECT,
        {**OBJECT, "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:x:y"},
        {**OBJECT, "$ref": "#/$defs/a", "$defs": {"a": {"minProperties": 1}}},
        {**OBJECT, "properties": {"x": {"$ref": "#a"}}, "$defs": {"b": {"$anchor": "a"}}},
        {**OBJECT, "properties": {"x": {"$ref": "#"}}},
        {**OBJECT, "properties": {"x": {"$dynamicRef": "#a"}}, "$dynamicAnchor": "a"},
        {**OBJECT, "$defs": {"i": {"$id": "urn:i", "$defs": {"j": {}}, "$ref": "#/$defs/j"}}},
        {**OBJECT, "definitions": {"a": True}, "properties": {"x": {"$ref": "#/definitions/a"}}},
        member(format="email", unknown=[1], contentEncoding="base64"),
        member(pattern=r"^\d{3}[\w-]+\p{L}$"),
        member(enum=[{"$ref": "http://example.com"}], const={"pattern": "(?=a)"}),
        member(default={"$schema": "x"}),
        {**OBJECT, "default": "no object", "items": {"type": "string", "default": 1}},
        member(properties={"y": {"$ref": "#/$defs/a~1b%25"}}) | {"$defs": {"a/b%": {}}},
    ],
)
def test_taken(taken: dict[str, Any]) -> None:
    assert problems(taken) == []
    assert isinstance(summit.schema_of(json.dumps(taken)), Schema)


@pytest.mark.parametrize(
    ("refused", "rule", "path"),
    [
        ({}, "schema", "/s/type"),
        ({"type": "array"}, "schema", "/s/type"),
        ({"type": ["object"]}, "schema", "/s/type"),
        ({**OBJECT, "required": "x"}, "schema", "/s/required"),
        (member(minimum="1"), "schema", "/s/properties/x/minimum"),
        (member(type="text"), "schema", "/s/properties/x/type"),
        (member(items=[{}]), "schema", "/s/properties/x/items"),
        ({**member(**{"$ref": "#/x/y"}), "x": {"y": {"type": 1}}}, "schema", "/s/x/y"),
        ({**OBJECT, "$schema": "http://json-schema.org/schema#"}, "schema_dialect", "/s/$schema"),
        (member(**{"$ref": "urn:x"}), "schema_ref", "/s/properties/x/$ref"),
        (member(**{"$ref": ""}), "schema_ref", "/s/properties/x/$ref"),
        (member(**{"$ref": "a#b"}), "schema_ref", "/s/properties/x/$ref"),
        (member(**{"$ref": "#/properties/y"}), "schema_ref", "/s/properties/x/$ref"),
        (member(**{"$ref": "#y"}), "schema_ref", "/s/properties/x/$ref"),
        (member(**{"$ref": "#/type"}), "schema_ref", "/s/properties/x/$ref"),
        (member(**{"$dynamicRef": "#y"}), "schema_ref", "/s/properties/x/$dynamicRef"),
        (member(**{"$dynamicRef": "http://e.com/#y"}), "schema_ref", "/s/properties/x/$dynamicRef"),
        ({**OBJECT, "allOf": [{"anyOf": [{"$ref": "#"}]}]}, "schema_ref", "/s"),
        (member(pattern="(?!a)"), "schema_pattern", "/s/properties/x/pattern"),
        (member(pattern="(?<=a)"), "schema_pattern", "/s/properties/x/pattern"),
        (member(pattern=r"(a)\1"), "schema_pattern", "/s/properties/x/pattern"),
        (member(pattern="["), "schema_pattern", "/s/properties/x/pattern"),
        (member(pattern="((a{1000}){1000}){1000}"), "schema_pattern", "/s/properties/x/pattern"),
        (
            {**OBJECT, "patternProperties": {"(?=a)": {}}},
            "schema_pattern",
            "/s/patternProperties/(?=a)",
        ),
        (member(type="integer", default="1"), "schema_default", "/s/properties/x/default"),
        (
            member(items={"properties": {"y": {"$ref": "#/$defs/d"}}})
            | {"$defs": {"d": {"type": "string", "default": 1}}},
            "schema_default",
            "/s/$defs/d/default",
        ),
        (
            {**OBJECT, "allOf": [{"properties": {"x": {"maximum": 1, "default": 2}}}]},
            "schema_default",
            "/s/allOf/0/properties/x/default",
        ),
    ],
)
def test_refused(refused: dict[str, Any], rule: str, path: str) -> None:
    assert problems(refused) == [(rule, path)]


def test_defaults_that_the_walk_does_not_reach_are_not_looked_at() -> None:
    bad = {"type": "integer", "default": "x"}
    for taken in (
        {**OBJECT, "anyOf": [{"properties": {"x": bad}}]},
        {**OBJECT, "patternProperties": {"x": bad}, "additionalProperties": bad},
        {**OBJECT, "$defs": {"d": {"properties": {"x": bad}}}},
        {**OBJECT, "items": bad, "prefixItems": [{"properties": {"x": bad}}]},
    ):
        assert problems(taken) == []
        assert schema(**taken).filled({}) == {}


FILLING: list[tuple[dict[str, Any], Any, Any]] = [
    (member(default=3), {}, {"x": 3}),
    (member(default=3), {"x": None}, {"x": None}),
    (member(default=None), {}, {"x": None}),
    (member(default=3), {"y": 1}, {"y": 1, "x": 3}),
    (member(default={"a": 1}, properties={"b": {"default": 2}}), {}, {"x": {"a": 1}}),
    (member(default={}, properties={"b": {"default": 2}}), {"x": {}}, {"x": {"b": 2}}),
    (member(properties={"b": {"default": 2}}), {}, {}),
    (member(items={"properties": {"b": {"default": 2}}}), {"x": [{}, 1]}, {"x": [{"b": 2}, 1]}),
    (
        member(prefixItems=[{}], items={"properties": {"b": {"default": 2}}}),
        {"x": [{}, {}]},
        {"x": [{}, {"b": 2}]},
    ),
    ({**OBJECT, "allOf": [member(default=1), member(default=2)]}, {}, {"x": 1}),
    (member() | {"allOf": [member(default=1)]}, {}, {"x": 1}),
    (member(default=0) | {"$ref": "#/$defs/d", "$defs": {"d": member(default=1)}}, {}, {"x": 0}),
    (
        {
            **OBJECT,
            "$ref": "#/$defs/d",
            "allOf": [member(default=2)],
            "$defs": {"d": member(default=1)},
        },
        {},
        {"x": 1},
    ),
    (
        member(**{"$ref": "#/$defs/d", "allOf": [{"default": 2}]})
        | {"$defs": {"d": {"default": 1}}},
        {},
        {"x": 1},
    ),
    (
        member(properties={"y": {"default": 1}})
        | {"allOf": [member(properties={"z": {"default": 2}})]},
        {"x": {}},
        {"x": {"y": 1, "z": 2}},
    ),
    (
        {**OBJECT, "properties": {"x": {"$ref": "#"}, "n": {"default": 1}}},
        {"x": {"x": {}}},
        {"x": {"x": {"n": 1}, "n": 1}, "n": 1},
    ),
    ({**OBJECT, "anyOf": [member(default=1)], "if": member(default=1)}, {}, {}),
    (
        member(default=1) | {"properties": {"x": {"default": 1}, "y": True}},
        {"y": 0},
        {"y": 0, "x": 1},
    ),
]


@pytest.mark.parametrize(("made", "value", "filled"), FILLING)
def test_defaults_are_filled_in(made: dict[str, Any], value: Any, filled: Any) -> None:
    compiled, before = schema(**made), copy.deepcopy(value)
    result = compiled.filled(value)
    assert result == filled
    assert value == before
    assert compiled.filled(result) == summit.schema_of(json.dumps(made)).filled(filled)


def test_each_default_is_a_copy() -> None:
    compiled = schema(**member(default={"a": [1]}))
    compiled.filled({})["x"]["a"].append(2)
    assert compiled.filled({}) == {"x": {"a": [1]}}


@pytest.mark.parametrize(
    ("keywords", "value", "expected"),
    [
        ({"required": ["a", "b"]}, {}, [("/a", "required"), ("/b", "required")]),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, [("/b", "dependentRequired")]),
        (
            {"additionalProperties": False},
            {"b/c": 1, "a~": 2},
            [("/a~0", "additionalProperties"), ("/b~1c", "additionalProperties")],
        ),
        (
            {
                "additionalProperties": False,
                "properties": {"a": {}},
                "patternProperties": {"^p": {}},
            },
            {"a": 1, "b": 2, "p": 3},
            [("/b", "additionalProperties")],
        ),
        ({"additionalProperties": {"type": "string"}}, {"a": 1}, [("/a", "type")]),
        (
            {"unevaluatedProperties": False, "allOf": [{"properties": {"a": {}}}]},
            {"a": 1, "b": 2},
            [("/b", "unevaluatedProperties")],
        ),
        (member(oneOf=[{"type": "string"}, {"type": "null"}]), {"x": 1}, [("/x", "oneOf")]),
        (member(oneOf=[{}, True]), {"x": 1}, [("/x", "oneOf")]),
        (member(anyOf=[{"minimum": 2}, {"maximum": 0}]), {"x": 1}, [("/x", "anyOf")]),
        (
            member(allOf=[{"minimum": 2}, {"maximum": 0}]),
            {"x": 1},
            [("/x", "maximum"), ("/x", "minimum")],
        ),
        (member(**{"not": {}}), {"x": 1}, [("/x", "not")]),
        (
            member(**{"$ref": "#/$defs/d"}) | {"$defs": {"d": {"const": 2}}},
            {"x": 1},
            [("/x", "const")],
        ),
        (member(**{"if": {"minimum": 1}, "then": {"minimum": 3}}), {"x": 2}, [("/x", "minimum")]),
        ({"properties": {"x": False}}, {"x": 1}, [("/x", "properties")]),
        ({"patternProperties": {"^x": False}}, {"xy": 1}, [("/xy", "patternProperties")]),
        (member(items=False), {"x": [1]}, [("/x/0", "items")]),
        (member(prefixItems=[{}, False]), {"x": [1, 2]}, [("/x/1", "prefixItems")]),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, [("", "propertyNames")]),
        (member(contains={"type": "null"}), {"x": []}, [("/x", "contains")]),
        (member(uniqueItems=True), {"x": [1, 1.0]}, [("/x", "uniqueItems")]),
        (member(enum=[1, "a"]), {"x": True}, [("/x", "enum")]),
        (member(type="integer"), {"x": 2.0}, []),
        (member(type="integer"), {"x": True}, [("/x", "type")]),
        (member(type="number"), {"x": False}, [("/x", "type")]),
        (member(multipleOf=0.01), {"x": 19.99}, []),
        (member(format="date"), {"x": "no date"}, []),
        (member(pattern="^a.c$"), {"x": "abc\n"}, [("/x", "pattern")]),
        (member(maxLength=1), {"x": "\U0001f600"}, []),
        ({}, [], [("", "type")]),
    ],
)
def test_errors_are_paths_and_keywords(
    keywords: dict[str, Any], value: Any, expected: list[tuple[str, str]]
) -> None:
    assert errors(value, **keywords) == [(f"/output{path}", keyword) for path, keyword in expected]
    slow = summit.schema_of(json.dumps({**OBJECT, **keywords}))._counted(value, "/output")
    assert [(e["path"], e["keyword"]) for e in slow] == errors(value, **keywords)


def test_errors_are_ten_at_most_sorted_and_cut() -> None:
    names = [f"n{i:02}" for i in range(20)]
    first_ten = errors({}, required=names[::-1])
    assert first_ten == [(f"/output/{name}", "required") for name in names[:10]]
    [(path, keyword)] = errors({"x" * 600: 1}, additionalProperties={"type": "null"})
    assert (path, keyword) == (f"/output/{'x' * 492}", "type")
    astral = errors({"\ufffd": 1, "\U00010000": 1}, additionalProperties=False)
    assert [path[-1] for path, _ in astral] == ["\ufffd", "\U00010000"]


def test_the_same_error_is_told_once() -> None:
    assert errors({"x": 1}, **member(allOf=[{"type": "null"}, {"type": "string"}])) == [
        ("/output/x", "type")
    ]


def test_the_message_names_the_first() -> None:
    schema_errors = schema(required=["a", "b"]).errors({}, "/params/inputs")
    message = "inputs.schema: /params/inputs/a: required"
    assert summit.schema_message("inputs.schema", schema_errors) == message
    assert summit.rule_message("inputs.schema", schema_errors) == message
