"""Every rule of shape of tasks, results and signals, and which of several rules decides."""

from __future__ import annotations

import copy
import json
import math
from importlib.resources import files
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from schemas import Problem, canonical_json, validate
from schemas.rules import Stage, Where
from schemas.sap import constants, rules
from schemas.sap.constants import is_blank
from tests.unit.schemas import examples
from tests.unit.schemas.examples import changed
from tests.unit.schemas.strategies import JSON

FOLDERS = ("sap/tasks", "sap/results", "sap/signals")
TASK = examples.valid("sap/tasks")["task"]
RESULT = examples.valid("sap/results")["succeeded"]
RATING = examples.valid("sap/signals")["rating"]
INVALID = [(folder, name) for folder in FOLDERS for name in examples.invalid(folder)]
VALID = [(folder, name) for folder in FOLDERS for name in examples.valid(folder)]


def rules_and_paths(problems: list[Problem]) -> list[tuple[str, str]]:
    return [(problem.rule, problem.path) for problem in problems]


@pytest.mark.parametrize(("folder", "name"), VALID)
def test_valid_examples_break_no_rule(folder: str, name: str) -> None:
    assert validate(examples.KINDS[folder], examples.valid(folder)[name]) == []


@pytest.mark.parametrize(("folder", "name"), INVALID)
def test_an_invalid_example_breaks_its_rule_and_no_other(folder: str, name: str) -> None:
    case = examples.invalid(folder)[name]
    problems = validate(examples.KINDS[folder], case["envelope"])
    assert rules_and_paths(problems) == [(case["rule"], case["path"])]


def test_every_rule_of_the_edges_has_an_example() -> None:
    declared = {rule.code for rule in rules.ALL if rule.where is Where.BOTH}
    shown_by = {case["rule"] for folder in FOLDERS for case in examples.invalid(folder).values()}
    by_policy = {rules.PAYLOAD_SECRET.code}  # tests of the routes and of the processor show it
    assert declared == shown_by | {"too_large"} | by_policy


def test_every_rule_of_shape_has_a_row_in_the_order_of_verdicts() -> None:
    codes = [rule.code for rule in rules.ALL if rule.stage is Stage.SCHEMA]
    assert list(rules.ROWS) == codes
    assert list(rules.ROWS.values()) == sorted(rules.ROWS.values())


def test_an_envelope_is_too_large_by_its_canonical_form() -> None:
    room = constants.MAX_ENVELOPE_BYTES - len(canonical_json(TASK))
    fits = changed(TASK, payload__document=TASK["payload"]["document"] + "x" * room)
    assert validate("sap.task", fits) == []
    assert rules_and_paths(validate("sap.task", changed(fits, meta={"a": 1}))) == [
        ("too_large", "")
    ]
    spaced = changed(fits, parentTaskId=None)
    assert validate("sap.task", spaced) == []


@pytest.mark.parametrize("value", [None, [], "task", 1, True, b"{}", {1: 2}, object()])
@pytest.mark.parametrize("kind", ["sap.task", "sap.result", "sap.signal"])
def test_what_is_no_envelope_at_all_breaks_rules_and_raises_nothing(kind: str, value: Any) -> None:
    assert validate(kind, value)


@given(st.data())
def test_junk_anywhere_is_told_and_raises_nothing(data: st.DataObject) -> None:
    folder, name = data.draw(st.sampled_from(VALID))
    value = copy.deepcopy(examples.valid(folder)[name])
    odd = st.sampled_from([math.nan, math.inf, 10**400, b"x", "\ud800", {1: 1}, (1,), set()])
    owner: Any = value
    while True:
        keys = list(owner) if isinstance(owner, dict) else list(range(len(owner)))
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        if isinstance(owner[key], (dict, list)) and owner[key] and data.draw(st.booleans()):
            owner = owner[key]
            continue
        owner[key] = data.draw(JSON | odd)
        break
    for problem in validate(examples.KINDS[folder], value):
        assert problem.rule in {rule.code for rule in rules.ALL}
        problem.path.encode()


def test_problems_are_told_by_path() -> None:
    value = changed(
        TASK, protocolVersion="1.0", taskId="x", issuedAt="now", issuer__agentKind="x", payload=...
    )
    assert rules_and_paths(validate("sap.task", value)) == [
        ("bad_timestamp", "/issuedAt"),
        ("bad_enum", "/issuer/agentKind"),
        ("missing_field", "/payload"),
        ("bad_version", "/protocolVersion"),
        ("bad_uuid", "/taskId"),
    ]


def test_of_one_path_the_table_of_rules_decides() -> None:
    value = changed(TASK, constitutionalContext__territory=" " * 1025)
    path = "/constitutionalContext/territory"
    assert rules_and_paths(validate("sap.task", value)) == [
        ("empty_string", path),
        ("too_long", path),
    ]


def test_a_code_that_names_the_thing_wins_over_a_general_one() -> None:
    value = changed(RESULT, status="FAILED", error={"message": "\u3000" * 5000})
    assert rules_and_paths(validate("sap.result", value)) == [
        ("error_message_missing", "/error/message")
    ]


def test_null_is_as_good_as_absent_for_members_that_may_be_absent() -> None:
    value = changed(
        TASK, parentTaskId=None, telemetry__priority=None, constitutionalContext__cachePolicy=None
    )
    assert validate("sap.task", value) == []


@pytest.mark.parametrize("number", [60, 60.0, 0, 9_007_199_254_740_991])
def test_an_integral_number_is_an_integer(number: float) -> None:
    value = changed(TASK, constitutionalContext__cachePolicy__maxAgeSec=number)
    assert validate("sap.task", value) == []


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 10**400, -0.001, 100.001])
def test_a_pressure_is_finite_and_within_bounds(number: float) -> None:
    value = changed(TASK, constitutionalContext__pressure__strategic_pause=number)
    path = "/constitutionalContext/pressure/strategic_pause"
    assert rules_and_paths(validate("sap.task", value)) == [("out_of_range", path)]


def test_readings_have_no_bounds() -> None:
    value = changed(RESULT, constitutionalEvidence__pressureReadings={"a": -1e300, "b": 1000})
    assert validate("sap.result", value) == []


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_a_body_nests_64_levels_and_no_more() -> None:
    assert validate("sap.task", changed(TASK, payload={"a": nested(62)})) == []
    deep = changed(TASK, payload={"a": nested(63)})
    assert rules_and_paths(validate("sap.task", deep)) == [("bad_json", "/payload")]
    assert validate("sap.task", changed(TASK, target__routingHints={"a": nested(61)})) == []
    deeper = changed(TASK, target__routingHints={"a": nested(62)})
    assert rules_and_paths(validate("sap.task", deeper)) == [("bad_json", "/target/routingHints")]


def test_lengths_are_counted_in_code_points() -> None:
    assert validate("sap.task", changed(TASK, issuer__name="\U0001f600" * 1024)) == []
    assert validate("sap.task", changed(TASK, issuer__agentId="\U0001f600" * 256)) == []


@pytest.mark.parametrize("text", ["\x1c", "\u200b", "\ufeff", "\u180e"])
def test_only_white_space_of_unicode_is_blank(text: str) -> None:
    assert not is_blank(text)


@pytest.mark.parametrize("text", ["", " ", "\u0085", "\u00a0", "\u2028\u202f\u205f\u3000"])
def test_white_space_alone_is_blank(text: str) -> None:
    assert is_blank(text)


ALIGNED = {
    "QUEUED": "ok ok ok",
    "RUNNING": "ok ok ok",
    "PARTIAL": "ok ok ✗",
    "SUCCEEDED": "ok ✗ ✗",
    "FAILED": "ok ok ok",
    "CANCELLED": "ok ok ok",
    "ESCALATED": "ok ok ok",
}
"""By status: whether VALID, ESCALATE and NON_CONSTITUTIONAL go with it (SAP guide, 3.6)."""


@pytest.mark.parametrize("status", constants.STATUSES)
@pytest.mark.parametrize("coded", [False, True])
def test_alignment_goes_with_the_status_and_the_code(status: str, coded: bool) -> None:
    for alignment, verdict in zip(constants.ALIGNMENTS, ALIGNED[status].split(), strict=True):
        error = {"message": "No."} | ({"code": "NON_CONSTITUTIONAL"} if coded else {})
        value = changed(
            RESULT, status=status, error=error, constitutionalEvidence__alignment=alignment
        )
        allowed = verdict == "ok" and (not coded or alignment == "NON_CONSTITUTIONAL")
        rules = [problem.rule for problem in validate("sap.result", value)]
        assert rules == ([] if allowed else ["alignment_status_mismatch"])


OPTIONS = {"rating": (None, 5), "decision": (None, "rejected"), "note": (None, "Well done.")}


@pytest.mark.parametrize("kind", constants.SIGNAL_KINDS)
def test_the_kind_says_what_a_signal_holds(kind: str) -> None:
    for rating, decision, note in product(*OPTIONS.values()):
        value = {**RATING, "kind": kind, "rating": rating, "decision": decision, "note": note}
        right = (rating is not None) is (kind == "rating")
        right &= (decision is not None) is (kind == "approval")
        right &= note is not None or kind != "note"
        rules = {problem.rule for problem in validate("sap.signal", value)}
        assert rules == (set() if right else {"bad_signal"})


@pytest.mark.parametrize("rating", [1, 2, 3, 4, 5, 5.0])
def test_ratings_are_one_to_five(rating: float) -> None:
    assert validate("sap.signal", {**RATING, "rating": rating}) == []


def test_what_is_told_is_bounded_and_the_verdict_is_not_changed_by_that() -> None:
    tags: list[Any] = ["t" * 1025] * 300 + [7]
    problems = validate("sap.task", changed(TASK, tags=tags))
    assert rules_and_paths(problems)[:2] == [("too_many_items", "/tags"), ("too_long", "/tags/0")]
    assert len(problems) == 1 + 256 + 1
    named = changed(TASK, constitutionalContext__pressure={"p" * 100_000: 101})
    named["x" * 100_000] = 2**60
    assert rules_and_paths(validate("sap.task", named)) == [
        ("bad_json", ""),
        ("out_of_range", "/constitutionalContext/pressure"),
        ("too_long", "/constitutionalContext/pressure"),
    ]


LIMITS = {f"limit {n}": n for n in range(255)}


@pytest.mark.parametrize(
    ("budget", "fits"),
    [
        ({"tokens": 1, **LIMITS}, True),
        ({"tokens": 1, "seconds": 1, **LIMITS}, False),
        ({"more": 1, "most": 1, **LIMITS}, False),
    ],
)
def test_a_budget_is_a_map_like_others(budget: dict[str, Any], fits: bool) -> None:
    """Each number in it is a limit."""
    value = changed(TASK, telemetry={"budget": budget})
    expected = [] if fits else [("too_many_items", "/telemetry/budget")]
    assert rules_and_paths(validate("sap.task", value)) == expected
    text = files("schemas").joinpath("json/sap/task.json").read_text("utf-8")
    assert Draft202012Validator(json.loads(text)).is_valid(value) is fits


def test_a_limit_that_is_null_is_none() -> None:
    budget = {"seconds": None, "tokens": 1, **LIMITS}
    assert validate("sap.task", changed(TASK, telemetry={"budget": budget})) == []
