"""Envelopes as records and back: open JSON, unknown members, hashes, and what anyone may send."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from schemas import (
    CATALOGUE,
    ShapeError,
    canonical_json,
    decode,
    encode,
    from_json,
    sap,
    sha256_hex,
    to_json,
)
from schemas.build import sources
from schemas.json_mapping.mapping import EXTRA
from schemas.json_mapping.row_schema import RowSchemas
from schemas.sap.mapping import OBJECTS
from schemas.sap.models import ENVELOPES, SHAPES
from schemas.sap.shapes import Open, without_nulls
from schemas.sources import definitions
from tests.examples import example_count
from tests.unit.schemas import examples
from tests.unit.schemas.strategies import JSON, values

RECORDS = {"task": "headrace.sap.SapTask", "result": "headrace.sap.SapResult"}
RECORDS["signal"] = "headrace.sap.SapSignal"
EXAMPLES = [(kind, name) for kind in RECORDS for name in examples.valid(f"sap/{kind}s")]
TASK = examples.valid("sap/tasks")["task"]
UNKNOWN = examples.valid("sap/tasks")["unknown_members"]
RESULT = examples.valid("sap/results")["succeeded"]


def avro(kind: str, value: dict[str, Any]) -> dict[str, Any]:
    """The Avro value as a reader of the log has it."""
    record = RECORDS[kind]
    decoded: dict[str, Any] = decode(encode(record, from_json(record, value)), record).value
    return decoded


def rules_of(kind: str, value: dict[str, Any]) -> list[tuple[str, str]]:
    return [(problem.rule, problem.path) for problem in sap.judge(kind, value).problems]


@pytest.mark.parametrize(("kind", "name"), EXAMPLES)
def test_an_example_is_judged_alike_as_json_and_as_a_record(kind: str, name: str) -> None:
    value = examples.valid(f"sap/{kind}s")[name]
    validation = sap.judge(kind, avro(kind, value))
    assert validation.problems == []
    assert canonical_json(validation.json) == canonical_json(without_nulls(ENVELOPES[kind], value))
    assert validation.sha256 == sap.envelope_hash(without_nulls(ENVELOPES[kind], value))
    assert to_json(RECORDS[kind], avro(kind, value)) == validation.json


@pytest.mark.parametrize("kind", RECORDS)
def test_an_invalid_example_that_avro_can_carry_breaks_the_same_rule_there(kind: str) -> None:
    carried = 0
    for name, case in examples.invalid(f"sap/{kind}s").items():
        try:
            value = avro(kind, case["envelope"])
        except (ShapeError, ValueError):
            continue
        carried += 1
        assert rules_of(kind, value) == [(case["rule"], case["path"])], name
    assert carried >= 4


def test_unknown_members_are_kept_at_every_level() -> None:
    value = avro("task", UNKNOWN)
    assert json.loads(value[EXTRA]) == {"x-shard": {"n": None, "of": [1, 2]}}
    assert json.loads(value["issuer"][EXTRA]) == {"team": "finance"}
    assert json.loads(value["attachments"][0][EXTRA]) == {"bytes": 1200}
    assert to_json(RECORDS["task"], value) == UNKNOWN
    assert sap.judge("task", value).json == UNKNOWN


def test_unknown_members_are_part_of_the_hash() -> None:
    assert sap.envelope_hash(TASK) != sap.envelope_hash({**TASK, "x": 1})


@pytest.mark.parametrize(
    "output", ["text", "null", '"quoted"', "{}", "12", 12, 0.5, True, [], {}, ["a", None]]
)
def test_any_json_is_an_output_and_stays_what_it_is(output: Any) -> None:
    value = avro("result", {**RESULT, "output": output})
    assert value["output_json"] == canonical_json(output).decode()
    assert to_json(RECORDS["result"], value)["output"] == output
    assert sap.judge("result", value).json["output"] == output


def test_an_output_of_null_is_none() -> None:
    assert avro("result", {**RESULT, "output": None})["output_json"] is None
    null = {**avro("result", RESULT), "output_json": "null"}
    validation = sap.judge("result", null)
    assert validation.problems == []
    assert "output" not in validation.json


def test_text_that_is_not_canonical_is_accepted_and_hashed_in_canonical_form() -> None:
    value = avro("task", TASK)
    spaced = {**value, "payload_json": json.dumps(TASK["payload"], indent=3)}
    assert sap.judge("task", spaced) == sap.judge("task", value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{'a': 1}",
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e400}',
        '{"a": 9007199254740992}',
        '{"a": ' + "9" * 400 + "}",
        '{"a": "\\ud800"}',
        '{"\\udc00": 1}',
        '{"a":' + "[" * 64 + "]" * 64 + "}",
        '{"a":' + "[" * 5000 + "]" * 5000 + "}",
        '{"a":' + "[" * 500 + "]" * 500 + "}",
    ],
)
def test_text_that_is_no_i_json_is_told_with_its_member(text: str) -> None:
    value = avro("task", TASK)
    assert rules_of("task", {**value, "payload_json": text}) == [("bad_json", "/payload")]
    target = {**value["target"], "routingHints_json": text}
    assert ("bad_json", "/target/routingHints") in rules_of("task", {**value, "target": target})
    assert ("bad_json", "/extra_json") in rules_of("task", {**value, EXTRA: text}) or (
        "bad_json",
        "/a",
    ) in rules_of("task", {**value, EXTRA: text})


def test_what_cannot_be_read_has_no_hash_and_is_not_shown() -> None:
    validation = sap.judge("task", {**avro("task", TASK), "payload_json": "{"})
    assert validation.sha256 is None
    assert "payload" not in validation.json
    assert validation.json["taskId"] == TASK["taskId"]


@pytest.mark.parametrize("text", ["[]", "1", '"x"', "null", '{"taskId": null}', '{"payload":{}}'])
def test_extras_that_are_no_object_or_name_a_field_are_in_conflict(text: str) -> None:
    value = {**avro("task", TASK), EXTRA: text}
    assert rules_of("task", value) == [("extra_conflict", "/extra_json")]


def test_extras_within_an_object_are_judged_there() -> None:
    value = avro("task", TASK)
    value["issuer"] = {**value["issuer"], EXTRA: '{"name": "x"}'}
    assert rules_of("task", value) == [("extra_conflict", "/issuer/extra_json")]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -1.0])
def test_numbers_of_a_record_are_finite(number: float) -> None:
    value = avro("task", TASK)
    value["constitutionalContext"]["pressure"] = {"p": number}
    assert rules_of("task", value) == [("out_of_range", "/constitutionalContext/pressure/p")]


def test_a_record_with_wrong_types_in_open_json_says_so() -> None:
    value = avro("task", TASK)
    assert rules_of("task", {**value, "payload_json": "[1]"}) == [("bad_type", "/payload")]
    result = {**avro("result", RESULT), "nextActions_json": "[1]"}
    assert rules_of("result", result) == [("bad_type", "/nextActions/0")]


@pytest.mark.parametrize("kind", RECORDS)
def test_any_record_is_judged_without_raising(kind: str) -> None:
    @settings(max_examples=example_count(60))
    @given(values(RECORDS[kind]))
    def check(value: dict[str, Any]) -> None:
        validation = sap.judge(kind, value)
        canonical_json([problem._asdict() for problem in validation.problems])

    check()


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), JSON))
def test_any_payload_survives(payload: dict[str, Any]) -> None:
    validation = sap.judge("task", avro("task", {**TASK, "payload": payload}))
    assert validation.problems == []
    assert canonical_json(validation.json["payload"]) == canonical_json(payload)


@pytest.mark.parametrize("number", [2.0**53, -1e20, 1e300])
def test_a_large_double_does_not_become_an_integer_on_its_way(number: float) -> None:
    validation = sap.judge("task", avro("task", {**TASK, "payload": {"a": [number]}}))
    assert validation.problems == []
    assert validation.json["payload"] == {"a": [number]}
    assert validation.sha256 == sap.envelope_hash({**TASK, "payload": {"a": [number]}})


def test_beside_a_large_double_other_numbers_stay_canonical() -> None:
    value = avro("task", {**TASK, "payload": {"b": 1e20, "a": 1.0, "c": [2.5, 3.0, True]}})
    assert value["payload_json"] == '{"a":1,"b":1e+20,"c":[2.5,3,true]}'


def test_ids_are_hashed_in_lower_case_and_kept_as_sent() -> None:
    upper = {
        **TASK,
        "taskId": TASK["taskId"].upper(),
        "correlationId": TASK["correlationId"].upper(),
    }
    assert sap.envelope_hash(upper) == sap.envelope_hash(TASK)
    assert sap.judge("task", avro("task", upper)).json["taskId"] == TASK["taskId"].upper()


def test_the_hash_is_that_of_the_canonical_json_without_nulls() -> None:
    value = {**TASK, "parentTaskId": None}
    assert sap.judge("task", avro("task", value)).sha256 == sha256_hex(canonical_json(TASK))


def test_a_record_hash_leaves_out_nulls_but_not_those_of_open_json() -> None:
    record = {
        "cacheKey": "k",
        "territory": None,
        "outputContract": {"format": None, "schema": {"const": None}, "strict": None},
        "policyChecks": [{"principle": "p", "status": "PASS", "notes": None}],
        "violations": [],
        "output": {"a": None},
        "recordSha256": "x",
    }
    expected = {
        "cacheKey": "k",
        "outputContract": {"schema": {"const": None}, "strict": None},
        "policyChecks": [{"principle": "p", "status": "PASS"}],
        "violations": [],
        "output": {"a": None},
    }
    before = copy.deepcopy(record)
    assert sap.record_sha256(record) == sha256_hex(canonical_json(expected))
    assert record == before


def test_shapes_and_records_have_the_same_members() -> None:
    assert {f"headrace.sap.{record}" for record in SHAPES} == OBJECTS
    for record, shape in SHAPES.items():
        schema, _ = definitions()[f"headrace.sap.{record}"]
        fields = [field["name"] for field in schema["fields"]]
        names = [m.name + ("_json" if isinstance(m.kind, Open) else "") for m in shape.members]
        assert fields == [*names, EXTRA]
        required = {m.name for m in shape.members if m.required}
        always = {f["name"].removesuffix("_json") for f in schema["fields"] if "default" not in f}
        assert always == required


def test_the_avro_sources_of_objects_are_those_of_the_models() -> None:
    stale = [path for path, text in sources().items() if path.read_text("utf-8") != text]
    assert stale == [], "run: python -m schemas.build"
    assert {path.stem for path in sources() if path.parent.name == "sap"} == set(SHAPES)


def test_members_of_the_services_own_records_are_shown_when_they_are_null() -> None:
    record = "headrace.sap.SapCacheHead"
    head: dict[str, Any] = {
        "version": 0,
        "recordSha256": None,
        "flight": None,
        "lapsedAt": None,
        "nextArrival": 0,
        "waiters": [],
    }
    assert to_json(record, head) == head
    assert CATALOGUE.latest(record)


def test_an_exact_sum_is_shown_as_a_number() -> None:
    value = {"count": 2, "sum_json": "815.30", "min": 0.3, "max": 815.0}
    learning = dict.fromkeys(("outcomes", "computed", "cacheHits", "approved", "rejected"), 0)
    maps = ("statusCounts", "alignmentCounts", "checkCounts", "violationCounts")
    counts: dict[str, Any] = {name: {} for name in (*maps, "citationCounts", "nextActionCounts")}
    row = {
        **learning,
        **counts,
        "capability": "c",
        "territory": None,
        "fingerprint": "e0.1",
        "metrics": {"tokens": value},
        "ratings": {"count": 0, "sum": 0, "min": None, "max": None},
        "notes": [],
        "bestTaskId": None,
        "firstAt": 0,
        "lastAt": 0,
        "heuristicsVersion": 0,
    }
    tokens = to_json("headrace.sap.SapLearning", row)["metrics"]["tokens"]
    assert tokens == {"count": 2, "sum": 815.3, "min": 0.3, "max": 815}


@pytest.mark.parametrize(("kind", "name"), EXAMPLES)
def test_an_example_fits_the_json_schema_of_its_record(kind: str, name: str) -> None:
    rows = RowSchemas("#/$defs/")
    schema = {**rows.add(RECORDS[kind]), "$defs": rows.found}
    as_json = to_json(RECORDS[kind], avro(kind, examples.valid(f"sap/{kind}s")[name]))
    assert list(Draft202012Validator(schema).iter_errors(as_json)) == []
