"""Schemas and values from outside that would hold up a partition, or end its worker."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schemas.summit.manifest_schema import Schema, schema_problems

Json = dict[str, Any]
NAMES = [f"n{i}" for i in range(5_000)]


def items(schema: Json) -> Json:
    return {"type": "object", "properties": {"a": {"items": schema}}}


def errors(schema: Json, value: Json) -> list[Json]:
    assert schema_problems(schema, ()) == []
    return Schema(json.loads(json.dumps(schema))).errors(value, "/b")


LISTS = {
    "required": (items({"required": NAMES}), {}, "/b/a/0/n0"),
    "dependentRequired": (items({"dependentRequired": {"z": NAMES}}), {"z": 1}, "/b/a/0/n0"),
    "type": (items({"type": "string"}), 1, "/b/a/0"),
    "enum": (items({"enum": [{"a": i} for i in range(5_000)]}), {"a": -1}, "/b/a/0"),
}


@pytest.mark.parametrize("keyword", LISTS)
def test_more_errors_than_memory_holds_are_not_listed(keyword: str) -> None:
    schema, item, path = LISTS[keyword]
    first_errors = errors(schema, {"a": [item] * 40_000})
    assert first_errors[0] == {"path": path, "keyword": keyword}
    assert len(first_errors) == 10


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (items({"enum": [{"a": i} for i in range(20_000)]}), {"a": [{"a": 19_999}] * 20_000}),
        (items({"dependentRequired": {n: [] for n in NAMES}}), {"a": [{}] * 80_000}),
        (items({"allOf": [{"multipleOf": 1e-300}] * 100}), {"a": [1] * 100_000}),
        (
            items({"allOf": [{"not": {"pattern": f"(a+b?c*)x{i % 1000}"}} for i in range(5_000)]}),
            {"a": ["abc" * 80_000]},
        ),
    ],
    ids=["enum", "dependentRequired", "multipleOf", "pattern"],
)
def test_what_takes_too_long_is_given_up(schema: Json, value: Json) -> None:
    assert errors(schema, value) == [{"path": "/b", "keyword": "$ref"}]


def test_a_large_value_of_a_plain_schema_is_valid() -> None:
    """As many subschemas as there are do not matter, but those that look at one value."""
    numbers = {"type": "array", "items": {"type": "number", "minimum": 0}}
    schema = {"type": "object", "properties": {f"p{i}": numbers for i in range(40)}}
    assert errors(schema, {"p1": [1.5] * 130_000}) == []


@pytest.mark.parametrize(
    ("schema", "value", "error"),
    [
        ({"properties": {"": {"const": 2}}}, {"": 1}, ("/b/", "const")),
        ({"properties": {"a": {"items": {"minProperties": 2}}}}, {"a": [{"": 1}]}, ("/b/a/0", "")),
        ({"additionalProperties": {"type": "string"}}, {"": 1}, ("/b/", "type")),
        ({"additionalProperties": False}, {"": 1}, ("/b/", "additionalProperties")),
        ({"required": [""]}, {}, ("/b/", "required")),
    ],
)
def test_a_name_may_be_empty(schema: Json, value: Json, error: tuple[str, str]) -> None:
    (actual,) = errors({"type": "object", **schema}, value)
    assert (actual["path"], actual["keyword"]) == (error[0], error[1] or "minProperties")


def test_many_defaults_are_looked_at_once() -> None:
    fields = [{"properties": {f"p{i}": {"type": "integer", "default": i}}} for i in range(4_000)]
    assert schema_problems(items({"allOf": fields}), ()) == []
    fields[-1]["properties"]["p3999"]["minimum"] = 4_000
    (problem,) = schema_problems(items({"allOf": fields}), ("s",))
    assert problem.rule == "manifest.schema_default"
    assert problem.path == "/s/properties/a/items/allOf/3999/properties/p3999/default"


def test_many_parts_with_an_id_are_looked_up_once() -> None:
    part = {"$ref": "#k", "$defs": {"k": {"$anchor": "k", "type": "string"}}}
    parts = {f"p{i}": {"$id": f"http://x/{i}", **part} for i in range(2_500)}
    schema = {"type": "object", "properties": parts}
    assert errors(schema, {"p7": 1}) == [{"path": "/b/p7", "keyword": "type"}]
    assert errors(schema, {"p7": "x"}) == []
