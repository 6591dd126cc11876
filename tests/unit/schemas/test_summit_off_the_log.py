"""Records off the log, made by anyone (Summit guide, 3, 5.2, 5.4, 7)."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings

from schemas import ShapeError, summit
from schemas.summit import words
from tests.examples import example_count
from tests.unit.schemas import examples
from tests.unit.schemas.strategies import values
from tests.unit.schemas.summit_support import (
    CALL,
    CANCEL,
    INVALID,
    JUDGES,
    MANIFEST,
    RESULT,
    VERIFICATION,
    changed,
    off_the_log,
)


@pytest.mark.parametrize(("folder", "name"), INVALID)
def test_what_avro_carries_breaks_the_same_rule_on_the_log(folder: str, name: str) -> None:
    case = examples.invalid(folder)[name]
    record, judge = JUDGES[folder]
    value = case[examples.CASES[folder]]
    form = summit.manifest_form(value) if isinstance(value, dict) else value
    try:
        avro = off_the_log(record, form)
    except ShapeError:
        return  # no record can be made of it
    validation = judge(avro)
    if folder == "summit/replies" and validation.problem is None:
        content = summit.reply_content(validation.json, "invoke")
        content_problem = content.problem or content.late
        # Open JSON of a final reply, a null, and an empty list have no rule of their own there.
        assert content_problem is not None or name in ("json.invalid-output", "status.value-type")
        if content_problem is not None and case["rule"] != "json.invalid":
            assert (content_problem.rule, content_problem.path) == (case["rule"], case["path"])
    elif validation.problem is None:
        assert name in (
            "params.shape-context",
            "rpc.id",
            "manifest.shape-null",
            "params.shape-delivery",
        )
    elif name != "rpc.id":
        assert (validation.problem.rule, validation.problem.path) == (case["rule"], case["path"])


@pytest.mark.parametrize(
    "text",
    ['{"a":1,"a":2}', "{", "", "[1e400]", '"\\ud800"', "NaN", "9007199254740992", "1" * 400],
)
def test_open_json_off_the_log_has_to_be_ijson(text: str) -> None:
    value = off_the_log(words.CALL_RECORD, CALL)
    record, params = value["params"]
    bad = {**value, "params": (record, {**params, "inputs_json": text})}
    problem = summit.judge_call(bad).problem
    assert problem is not None
    assert (problem.rule, problem.path) == ("json.invalid", "/params/inputs")

    manifest = off_the_log(words.MANIFEST_RECORD, MANIFEST)
    manifest["spec"]["interface"]["outputSchema_json"] = text
    problem = summit.judge_manifest(manifest).problem
    assert problem is not None
    assert (problem.rule, problem.path) == ("json.invalid", "/spec/interface/outputSchema")

    reply = off_the_log(words.REPLY_RECORD, RESULT)
    validation = summit.judge_reply({**reply, "output_json": text})
    assert validation.problem is None
    late = summit.reply_content(validation.json, "invoke").late
    assert late is not None
    assert (late.rule, late.path) == ("output.value", "/output")


@pytest.mark.parametrize("text", ["{", "[]", "1", '{"model":"m"}', '{"timestamp":1}'])
@pytest.mark.parametrize(
    ("reply", "rule"), [(RESULT, "provenance.value"), (VERIFICATION, "json.invalid")]
)
def test_extras_are_an_object_of_other_members(text: str, reply: Any, rule: str) -> None:
    value = off_the_log(words.REPLY_RECORD, reply)
    value["provenance"]["extra_json"] = text
    validation = summit.judge_reply(value)
    problem = validation.problem or summit.reply_content(validation.json, "invoke").problem
    assert problem is not None
    assert (problem.rule, problem.path) == (rule, "/provenance/extra_json")


def test_extras_do_not_speak_for_members() -> None:
    value = off_the_log(words.CALL_RECORD, changed(CALL, params__context__traceId=...))
    context = value["params"][1]["context"]
    context["extra_json"] = '{"traceId":"tr-1"}'
    validation = summit.judge_call(value)
    assert validation.problem is not None
    assert (validation.problem.rule, validation.problem.path) == (
        "json.invalid",
        "/params/context/extra_json",
    )


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_off_the_log_have_to_be_finite(number: float) -> None:
    call = off_the_log(words.CALL_RECORD, CALL)
    call["params"][1]["context"]["budget"]["usd"] = number
    problem = summit.judge_call(call).problem
    assert problem is not None
    assert problem.rule == "budget.value"
    for name in ("cost_usd", "latency_ms"):
        reply = off_the_log(words.REPLY_RECORD, RESULT)
        reply["metrics"][name] = number
        content = summit.reply_content(summit.judge_reply(reply).json, "invoke")
        assert content.problem is not None
        assert (content.problem.rule, content.metrics) == ("metrics.value", None)


def test_integers_off_the_log_have_to_be_safe() -> None:
    call = off_the_log(words.CALL_RECORD, CALL)
    assert judged_rule({**call, "id": 2**53}) == "rpc.id"
    call["params"][1]["context"]["budget"]["tokens"] = 2**53
    assert judged_rule(call) == "budget.value"


def judged_rule(call: dict[str, Any]) -> str | None:
    problem = summit.judge_call(call).problem
    return problem and problem.rule


def test_a_record_whose_params_are_not_its_methods() -> None:
    call = off_the_log(words.CALL_RECORD, CANCEL)
    for method, rule in (
        ("agent.invoke", "params.shape"),
        ("tool.call", "params.shape"),
        ("agent.status", "rpc.method"),
        ("agent.cancel", None),
    ):
        assert judged_rule({**call, "method": method}) == rule
    assert judged_rule({**call, "method": "agent.invoke", "jsonrpc": "1"}) == "rpc.version"


def test_a_delivery_is_the_services() -> None:
    call = off_the_log(words.CALL_RECORD, CALL)
    delivery = {
        "kind": "invoke",
        "agentVersion": "1.2.0",
        "manifestHash": "x",
        "callPosition": "summit.calls/4/118",
        "dueAt": 0,
        "reason": None,
    }
    validation = summit.judge_call({**call, "delivery": delivery})
    assert validation.problem is not None
    assert (validation.problem.rule, validation.problem.path) == ("params.shape", "/delivery")
    assert validation.json == CALL


@settings(max_examples=example_count(100), deadline=None)
@given(values(words.CALL_RECORD), values(words.REPLY_RECORD), values(words.MANIFEST_RECORD))
def test_any_record_is_judged(call: Any, reply: Any, manifest: Any) -> None:
    for validation in (summit.judge_call(call), summit.judge_manifest(manifest)):
        assert len(validation.hash) == 64
    validation = summit.judge_reply(reply)
    if validation.problem is None:
        for kind in ("invoke", "tool"):
            content = summit.reply_content(validation.json, kind)
            assert content.metrics is None or content.metrics == validation.json["metrics"]
