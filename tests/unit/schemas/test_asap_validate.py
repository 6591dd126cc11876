"""Every stateless rule of ASAP, on JSON and off the log, and which of several decides (3)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import ShapeError, asap, from_json, validate
from schemas.asap import Limits, judge, judge_manifest, rules
from schemas.asap.constants import ENVELOPE_RECORD, MANIFEST_RECORD
from schemas.rules import Stage, Where
from tests.unit.schemas import examples
from tests.unit.schemas.asap_carried import (
    IDS,
    REQUEST,
    SERVICE,
    SNAPSHOT,
    carrying,
    off_the_log,
    rules_and_paths,
)
from tests.unit.schemas.asap_tables import FIELDS, PAYLOADS
from tests.unit.schemas.examples import changed
from tests.unit.schemas.strategies import JSON, values

FOLDERS = ("asap", "asap/manifests")
VALID = [(folder, name) for folder in FOLDERS for name in examples.valid(folder)]
INVALID = [(folder, name) for folder in FOLDERS for name in examples.invalid(folder)]


@pytest.mark.parametrize(("folder", "name"), VALID)
def test_valid_examples_break_no_rule(folder: str, name: str) -> None:
    assert validate(examples.KINDS[folder], examples.valid(folder)[name]) == []


@pytest.mark.parametrize(("folder", "name"), INVALID)
def test_an_invalid_example_breaks_its_rule_and_no_other(folder: str, name: str) -> None:
    case = examples.invalid(folder)[name]
    problems = validate(examples.KINDS[folder], case[examples.CASES[folder]])
    assert rules_and_paths(problems) == [(case["rule"], case["path"])]
    assert problems[0].message.endswith(".")


@pytest.mark.parametrize("name", examples.invalid("asap"))
def test_off_the_log_an_example_breaks_the_same_rule(name: str) -> None:
    case = examples.invalid("asap")[name]
    try:
        problems = off_the_log(case["envelope"])
    except ShapeError as exc:
        problems = [exc.problem]
    problem = problems[0] if len(problems) == 1 else None
    if case["rule"] == "payload_type_mismatch":
        assert problems == [], "the log carries the type once"
    else:
        assert problem is not None
        assert problem.rule == case["rule"]
        assert problem.path.startswith(case["path"])


def test_every_rule_of_the_edges_has_an_example() -> None:
    example_rules = {
        case["rule"] for folder in FOLDERS for case in examples.invalid(folder).values()
    }
    stateless = {rule.code for rule in rules.ALL if rule.stage is Stage.SCHEMA}
    assert example_rules == stateless - {"envelope_too_large"} | {"bad_manifest"}


def test_the_rules_that_refuse_have_codes_of_the_taxonomy() -> None:
    refusing = [rule.code for rule in rules.ALL if rule.where is not Where.PROCESSOR]
    assert refusing == list(rules.REFUSING[: len(refusing)])
    assert all(code.startswith("asap:") for code in rules.ASAP_ERRORS.values())
    assert rules.fault_of("held_overflow") == "service"
    assert rules.fault_of("bad_id") == "sender"


@pytest.mark.parametrize("name", PAYLOADS)
def test_each_payload_is_valid_with_all_its_members_and_with_the_least(name: str) -> None:
    whole = carrying(name)
    assert asap.validate(whole) == off_the_log(whole) == []
    names = {field.name for field in FIELDS[name] if field.default is ...} | {"result"}
    minimal = {member: value for member, value in whole["payload"].items() if member in names}
    assert asap.validate({**whole, "payload": minimal}) == []


@pytest.mark.parametrize("name", PAYLOADS)
def test_each_required_member_of_a_payload_is_missed(name: str) -> None:
    for field in FIELDS[name]:
        if field.default is ...:
            missing = changed(carrying(name), **{f"payload__{field.name}": ...})
            assert rules_and_paths(asap.validate(missing)) == [
                ("bad_payload", f"/payload/{field.name}")
            ]


PLACES = [
    (name, f"payload__{field.name}")
    for name in PAYLOADS
    for field in FIELDS[name]
    if field.name in IDS
] + [("TaskCancel", name) for name in ("id", "correlation_id", "trace_id")]


@pytest.mark.parametrize(("name", "place"), PLACES)
def test_ids_have_1_to_256_characters_none_of_control(name: str, place: str) -> None:
    path = "/" + place.replace("__", "/")
    base = carrying(name)
    for good in ("x", "é" * 256, " ", "a/b%", "\x80"):
        assert asap.validate(changed(base, **{place: good})) == []
    for bad in ("", "x" * 257, *map(chr, range(32)), "a\x7f"):
        expected = [] if place == "correlation_id" and bad == "" else [("bad_id", path)]
        sent = changed(base, **{place: bad})
        assert (
            rules_and_paths(asap.validate(sent)) == rules_and_paths(off_the_log(sent)) == expected
        )


OPEN = [
    (name, f"payload__{field.name}")
    for name in PAYLOADS
    for field in FIELDS[name]
    if field.type in ("obj", "progress")
] + [("TaskCancel", "extensions")]


@pytest.mark.parametrize(("name", "place"), OPEN)
def test_open_members_are_objects_that_rfc_8785_can_carry(name: str, place: str) -> None:
    path = "/" + place.replace("__", "/")
    base = carrying(name)
    assert asap.validate(changed(base, **{place: {"a": [2**53 - 1, -(2**53) + 1, 1e300]}})) == []
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    bad_values: tuple[Any, ...] = (
        {"a": 2**53},
        {"a": [-(2**53)]},
        {"a": float("nan")},
        {"a": {"b": float("-inf")}},
        {"\ud800": 1},
        {"a": "\udfff"},
        {"a": deep},
        [],
        "text",
        7,
    )
    for bad in bad_values:
        rules_found = rules_and_paths(asap.validate(changed(base, **{place: bad})))
        assert rules_found == [("bad_json", path)]


@pytest.mark.parametrize(("name", "place"), OPEN)
def test_so_they_are_off_the_log_where_they_are_texts(name: str, place: str) -> None:
    path = "/" + place.replace("__", "/")
    value = from_json(ENVELOPE_RECORD, carrying(name))
    record, payload = value["payload"]
    for text in (
        "",
        "{",
        "[]",
        "7",
        "null",
        '{"a":1,"a":2}',
        '{"a":NaN}',
        '{"a":9007199254740992}',
    ):
        if place == "extensions":
            sent = {**value, "extensions_json": text}
        else:
            member = place.removeprefix("payload__") + "_json"
            sent = {**value, "payload": (record, {**payload, member: text})}
        assert rules_and_paths(judge(sent).problems) == [("bad_json", path)]
        assert judge(sent).envelope["id"] == value["id"]


def test_a_double_beyond_the_integers_stays_a_double() -> None:
    sent = changed(REQUEST, payload__input={"a": 9007199254740994.0, "b": 1e22})
    assert asap.validate(sent) == off_the_log(sent) == []


def test_version_of_a_query_fits_its_field() -> None:
    query = carrying("StateQuery")
    for version, expected in (
        (2**63 - 1, []),
        (2**63, ["bad_payload"]),
        (-(2**64), ["bad_payload"]),
    ):
        problems = asap.validate(changed(query, payload__version=version))
        assert [problem.rule for problem in problems] == expected


@pytest.mark.parametrize("name", PAYLOADS)
def test_nobody_is_the_service_and_it_takes_no_work(name: str) -> None:
    sent = changed(carrying(name), sender=SERVICE)
    if name == "MessageSend":
        sent["payload"]["sender"] = SERVICE
    assert rules_and_paths(asap.validate(sent)) == [("reserved_urn", "/sender")]
    received = changed(carrying(name), recipient=SERVICE)
    if name == "TaskUpdate":
        received["extensions"] = {SNAPSHOT: {"data": {}}}
    work = name == "TaskRequest" or name.startswith("Mcp")
    assert rules_and_paths(asap.validate(received)) == (
        [("reserved_urn", "/recipient")] if work else []
    )


def test_settings_are_those_given() -> None:
    limits = Limits(REQUEST["recipient"], 300, 10)
    sent = changed(REQUEST, payload__config={"event_retention_hours": 11})
    assert [problem.rule for problem in asap.validate(sent, limits)] == [
        "reserved_urn",
        "bad_config",
        "envelope_too_large",
    ]
    value = from_json(ENVELOPE_RECORD, sent)
    assert judge(value, limits).problems == asap.validate(sent, limits)


def test_size_is_that_of_the_canonical_form() -> None:
    size = len(json.dumps(REQUEST, separators=(",", ":")))
    assert size == 400
    minimal = changed(REQUEST, correlation_id=..., extensions=..., payload__parent_task_id=...)
    for sent in (REQUEST, minimal):
        assert asap.validate(sent, Limits(max_envelope_bytes=400)) == []
        problems = asap.validate(sent, Limits(max_envelope_bytes=399))
        assert rules_and_paths(problems) == [("envelope_too_large", "")]


def test_all_stateless_violations_are_told_in_the_order_of_the_table() -> None:
    sent = {
        **changed(REQUEST, asap_version="2", id="", sender="x", recipient=SERVICE),
        "payload_type": "message.send",
        "payload": {
            "payload_type": "TaskUpdate",
            "task_id": "",
            "message_id": "m",
            "sender": "y",
            "role": "user",
            "parts": [{"type": "data", "data": []}, {"type": "text"}],
        },
        "extensions": {"dev.headrace.error": {}},
        "more": 1,
    }
    assert [problem.rule for problem in asap.validate(sent)] == [
        "malformed_envelope",
        "payload_type_mismatch",
        "version_mismatch",
        "bad_id",
        "bad_id",
        "bad_urn",
        "bad_json",
        "bad_payload",
        "sender_mismatch",
        "bad_extension",
    ]


def test_an_unknown_type_comes_before_what_its_payload_might_break() -> None:
    sent = changed(REQUEST, payload_type="Task/Pause", payload={"parts": [1]})
    assert rules_and_paths(asap.validate(sent)) == [("unknown_payload_type", "/payload_type")]


def test_problems_are_read_by_attribute_and_by_name() -> None:
    (problem,) = asap.validate([])
    by_name: Any = problem
    assert (by_name["rule"], by_name["path"], by_name[0]) == (problem.rule, "", problem.rule)
    assert problem._asdict() == {
        "rule": "malformed_envelope",
        "path": "",
        "message": "The envelope must be an object.",
    }


def test_a_time_that_utc_has_not_is_refused() -> None:
    for text in ("0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"):
        assert rules_and_paths(asap.validate(changed(REQUEST, timestamp=text))) == [
            ("malformed_envelope", "/timestamp")
        ]
    value = from_json(ENVELOPE_RECORD, REQUEST)
    for micros in (-(2**63), 2**63 - 1, 253_402_300_800_000_000, -62_135_596_800_000_001):
        problems = judge({**value, "timestamp": micros}).problems
        assert rules_and_paths(problems) == [("malformed_envelope", "/timestamp")]
    for micros in (253_402_300_799_999_999, -62_135_596_800_000_000, 0, -1):
        assert judge({**value, "timestamp": micros}).problems == []


@given(JSON)
def test_any_json_is_judged(value: Any) -> None:
    assert asap.validate(value)
    assert asap.validate_manifest(value)


@given(st.sampled_from([(place, at) for place in ("", "payload") for at in range(10)]), JSON)
def test_any_member_may_be_anything(place: tuple[str, int], junk: Any) -> None:
    for name in PAYLOADS:
        sent = carrying(name)
        owner = sent[place[0]] if place[0] else sent
        owner[sorted(owner)[place[1] % len(owner)]] = junk
        problems = asap.validate(sent)
        if not problems:
            assert off_the_log(asap.canonical_form(sent)) == []


@given(values(ENVELOPE_RECORD))
def test_any_record_is_judged(value: dict[str, Any]) -> None:
    validation = judge(value)
    assert validation.envelope["payload_type"] in PAYLOADS
    assert validation.problems == asap.validate(validation.envelope)


@given(values(MANIFEST_RECORD))
def test_any_manifest_is_judged(value: dict[str, Any]) -> None:
    validation = judge_manifest(value)
    assert {problem.rule for problem in validation.problems} <= {"bad_manifest"}
    assert validation.sha256 is not None
