"""Contracts: what can be checked, what cannot, and that nothing takes long."""

from __future__ import annotations

import time
from typing import Any

import pytest

from schemas.json_schema.validator import LARGEST_BYTES
from streams.protocols.sap.constitution.evaluators import contract_results

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"


def status(schema: Any, output: Any) -> str:
    return contract_results({"schema": schema}, output)["contract:schema"].status


@pytest.mark.parametrize(
    ("name", "output", "expected"),
    [
        ("json", {}, "PASS"),
        ("json", 0, "PASS"),
        ("json", False, "PASS"),
        ("json", None, "FAIL"),
        ("markdown", "# a", "PASS"),
        ("markdown", {}, "FAIL"),
        ("markdown", None, "FAIL"),
        ("text", "", "PASS"),
        ("text", 1, "FAIL"),
        ("html", 1, None),
        ("html", None, None),
        (None, None, None),
    ],
)
def test_format(name: Any, output: Any, expected: str | None) -> None:
    checks = contract_results({"format": name}, output)
    assert (checks["contract:format"].status if checks else None) == expected


@pytest.mark.parametrize(
    ("schema", "output", "expected"),
    [
        ({"type": "object"}, {}, "PASS"),
        ({"type": "object"}, [], "FAIL"),
        ({"type": "object"}, None, "FAIL"),
        ({"title": "a report"}, 1, "PASS"),
        ({"const": 1}, True, "FAIL"),
        ({"enum": [1]}, 1.0, "PASS"),
        ({"uniqueItems": True}, [1, 1.0], "FAIL"),
        ({"uniqueItems": True}, [{"a": 1}, {"a": True}], "PASS"),
        ({"uniqueItems": False}, [1, 1], "PASS"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "FAIL"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}, 1, "FAIL"),
        ({"properties": {"a": {"$ref": "#"}}, "type": "object"}, {"a": {"a": 1}}, "FAIL"),
        ({"properties": {"a": {"$ref": "#"}}, "type": "object"}, {"a": {"a": {}}}, "PASS"),
        ({"$anchor": "top", "items": {"$ref": "#top"}, "type": "array"}, [[], [1]], "FAIL"),
        ({"prefixItems": [{"type": "string"}]}, [1], "FAIL"),
        ({"patternProperties": {"^a": {"type": "string"}}}, {"ab": 1}, "FAIL"),
        ({"patternProperties": {"^a": {"type": "string"}}}, {"ba": 1}, "PASS"),
        (
            {"patternProperties": {"^a": True}, "additionalProperties": False},
            {"ab": 1},
            "PASS",
        ),
        ({"patternProperties": {"^a": True}, "additionalProperties": False}, {"b": 1}, "FAIL"),
        ({"patternProperties": {"^a": True}, "unevaluatedProperties": False}, {"ab": 1}, "PASS"),
        ({"patternProperties": {"^a": True}, "unevaluatedProperties": False}, {"b": 1}, "FAIL"),
        (
            {"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False},
            {"a": 1},
            "PASS",
        ),
        (
            {
                "if": {"required": ["a"]},
                "then": {"properties": {"a": True}},
                "else": {"properties": {"b": True}},
                "unevaluatedProperties": {"type": "string"},
            },
            {"a": 1, "b": 2},
            "FAIL",
        ),
        ({"pattern": r"^[A-Z]{3}-\d{4}$"}, "ABC-1234", "PASS"),
        ({"pattern": r"^[A-Z]{3}-\d{4}$"}, "ABC-1234\n", "FAIL"),
        ({"pattern": "^(a+)+$"}, "a" * 5000 + "b", "FAIL"),
        ({"pattern": "^[\\u0041-\\u005a]$"}, "B", "PASS"),
        ({"pattern": r"^\\u0041$"}, "A", "FAIL"),
        ({"pattern": r"^\\u0041$"}, "\\u0041", "PASS"),
    ],
)
def test_schema(schema: Any, output: Any, expected: str) -> None:
    assert status(schema, output) == expected


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"sections": ["intro", "body"]},
        {"type": "report"},
        {"properties": {"a": {"minimum": "one"}}},
        {"$ref": "https://example.com/schema"},
        {"properties": {"a": {"$ref": "other.json#/a"}}},
        {"$ref": DRAFT_2020},
        {"$ref": "#/$defs/missing"},
        {"pattern": "(?=a)b"},
        {"properties": {"a": {"pattern": r"(a)\1"}}},
        {"patternProperties": {"(?<!a)b": True}},
        {"$defs": {"unused": {"pattern": "(?!a)"}}, "type": "object"},
        {"$ref": "#"},
        {"$schema": "https://example.com/my-draft", "type": "object"},
        {"$schema": "http://json-schema.org/draft-04/schema#", "type": "object"},
        {"type": "object", "description": "x" * LARGEST_BYTES},
        True,
        "schema",
    ],
    ids=lambda schema: str(schema)[:60],
)
def test_unchecked(schema: Any) -> None:
    assert status(schema, {"a": 1}) == "UNCHECKED"
    assert status(schema, None) == "FAIL"


def test_a_schema_as_large_as_allowed_is_checked() -> None:
    padding = LARGEST_BYTES - len('{"description":"","type":"object"}')
    assert status({"type": "object", "description": "x" * padding}, {}) == "PASS"


@pytest.mark.parametrize(
    ("draft", "schema", "output", "expected"),
    [
        (DRAFT_7, {"items": [{"type": "string"}]}, [1], "FAIL"),
        (DRAFT_7, {"prefixItems": [{"type": "string"}]}, [1], "PASS"),
        (DRAFT_7, {"$ref": "#/definitions/a", "definitions": {"a": {}}, "type": "null"}, 1, "PASS"),
        (DRAFT_7, {"dependencies": {"a": ["b"]}}, {"a": 1}, "FAIL"),
        (DRAFT_2019, {"items": [{"type": "string"}]}, [1], "FAIL"),
        (DRAFT_2019, {"properties": {"a": True}, "unevaluatedProperties": False}, {"b": 1}, "FAIL"),
        (DRAFT_2019, {"$recursiveAnchor": True, "items": {"$recursiveRef": "#"}}, [[]], "PASS"),
        (DRAFT_2020, {"prefixItems": [{"type": "string"}]}, [1], "FAIL"),
        (DRAFT_2020, {"items": [{"type": "string"}]}, [1], "UNCHECKED"),
        (None, {"items": [{"type": "string"}]}, [1], "UNCHECKED"),
    ],
)
def test_drafts(draft: str | None, schema: Any, output: Any, expected: str) -> None:
    named = {"$schema": draft} if draft else {}
    assert status({**named, **schema}, output) == expected


@pytest.mark.parametrize("draft", [DRAFT_7, DRAFT_7.removesuffix("#"), DRAFT_2019, DRAFT_2020])
def test_a_schema_that_names_its_draft_keeps_our_keywords_below(draft: str) -> None:
    schema = {"$schema": draft, "properties": {"a": {"$ref": "#"}, "x": {"pattern": "^(a+)+$"}}}
    assert status(schema, {"a": {"a": {"x": "a" * 100 + "b"}}}) == "FAIL"


def test_notes_say_where_and_not_what() -> None:
    schema = {"properties": {"secret": {"type": "integer"}}}
    finding = contract_results({"schema": schema}, {"secret": "hunter2"})["contract:schema"]
    assert finding.notes == "type at /secret"


def _doubling(levels: int) -> dict[str, Any]:
    defs: dict[str, Any] = {"a0": {"type": "object"}}
    for n in range(1, levels):
        defs[f"a{n}"] = {"allOf": [{"$ref": f"#/$defs/a{n - 1}"}] * 2}
    return {"$defs": defs, "$ref": f"#/$defs/a{levels - 1}"}


@pytest.mark.parametrize(
    ("schema", "output"),
    [
        (_doubling(40), {}),
        ({"uniqueItems": True}, [{"n": n} for n in range(60_000)]),
        ({"anyOf": [{"type": "null"}] * 3000}, "x" * 500_000),
        ({"items": {"enum": list(range(10_000))}}, ["x"] * 100_000),
        ({"not": {"not": {"items": {"items": {"type": "null"}}}}}, [[None] * 200] * 200),
    ],
    ids=("doubling", "unique", "any", "enum", "not"),
)
def test_nothing_takes_long(schema: Any, output: Any) -> None:
    started = time.process_time()
    status(schema, output)
    assert time.process_time() - started < 5
