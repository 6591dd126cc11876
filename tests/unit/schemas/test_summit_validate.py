"""Every rule of the edges, and which of several decides (Summit guide, 3, 5)."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import summit, validate
from schemas.rules import Where
from schemas.summit import rules
from tests.examples import example_count
from tests.unit.schemas import examples
from tests.unit.schemas.strategies import JSON
from tests.unit.schemas.summit_support import (
    CALL,
    ERROR,
    FOLDERS,
    INVALID,
    JUDGES,
    MANIFEST,
    PROGRESS,
    RESULT,
    TOOL_CALL,
    VALID,
    VERIFICATION,
    changed,
    deep,
    extra,
    off_the_log,
    rules_and_paths,
)

ELSEWHERE = {
    "json.parse": "test_bodies_that_are_no_json",
    "rpc.batch": "a body, not a request",
    "manifest.yaml": "test_summit_yaml",
    "params.size": "SIZES",
    "context.size": "SIZES",
    "manifest.size": "SIZES",
    "budget.missing": "a policy",
    "budget.cap": "a policy",
    "auth.sender": "a token",
    "run.pending": "a wait",
    "service.unavailable": "the gateway's own",
    "service.internal": "the gateway's own",
}
"""Rules of the edges without an example, and what they need."""


@pytest.mark.parametrize(("folder", "name"), VALID)
def test_valid_examples_break_no_rule(folder: str, name: str) -> None:
    value = examples.valid(folder)[name]
    assert validate(examples.KINDS[folder], value) == []
    record, judge = JUDGES[folder]
    form = summit.manifest_form(value) if folder == "summit/manifests" else value
    assert judge(off_the_log(record, form)).problem is None


@pytest.mark.parametrize(("folder", "name"), INVALID)
def test_an_invalid_example_breaks_its_rule_and_no_other(folder: str, name: str) -> None:
    case = examples.invalid(folder)[name]
    problems = validate(examples.KINDS[folder], case[examples.CASES[folder]])
    assert rules_and_paths(problems)[0] == (case["rule"], case["path"])
    assert {problem.rule for problem in problems} == {case["rule"]}
    assert name.partition("-")[0] == case["rule"]
    assert all(problem.message.endswith(".") for problem in problems)


def test_every_rule_of_the_edges_has_an_example() -> None:
    example_rules = {examples.invalid(folder)[name]["rule"] for folder, name in INVALID}
    edges = {rule.code for rule in rules.ALL if rule.where is not Where.PROCESSOR}
    assert example_rules | ELSEWHERE.keys() == edges
    assert not example_rules & ELSEWHERE.keys()


def with_extra(size: int) -> dict[str, Any]:
    call = copy.deepcopy(CALL)
    call["params"]["context"] |= extra(size)
    return call


SIZES: list[tuple[str, Any, Any, int]] = [
    ("params.size", lambda n: changed(CALL, params__inputs=extra(n)), summit.check_call, 262_144),
    (
        "params.size",
        lambda n: changed(TOOL_CALL, params__toolCall__arguments=extra(n)),
        summit.check_call,
        262_144,
    ),
    ("context.size", with_extra, summit.check_call, 16_384),
    (
        "manifest.text",
        lambda n: changed(
            MANIFEST, metadata={"name": "a", "version": "1.0.0", "description": "x", **extra(n)}
        ),
        summit.check_manifest,
        16_384,
    ),
    ("output.value", lambda n: changed(RESULT, output=extra(n)), summit.check_reply, 393_216),
    (
        "error.value",
        lambda n: changed(ERROR, error__data=extra(n)),
        summit.check_reply,
        16_384,
    ),
    (
        "provenance.value",
        lambda n: changed(
            RESULT, provenance={"model": "m", "timestamp": "2026-03-02T09:00:00Z", **extra(n)}
        ),
        summit.check_reply,
        16_384,
    ),
]


@pytest.mark.parametrize(("rule", "make", "check", "max_size"), SIZES)
def test_sizes_are_counted_in_canonical_bytes(
    rule: str, make: Any, check: Any, max_size: int
) -> None:
    assert check(make(max_size)) == []
    assert [problem.rule for problem in check(make(max_size + 1))] == [rule]


def test_the_size_of_a_manifest_is_that_of_its_form_on_the_log() -> None:
    small = changed(MANIFEST, spec__interface__inputSchema__description="")
    for size, expected in ((262_144, []), (262_145, ["manifest.size"])):
        text = "x" * (size - len(json.dumps(small, separators=(",", ":"))))
        value = changed(small, spec__interface__inputSchema__description=text)
        assert [problem.rule for problem in summit.check_manifest(value)] == expected


def test_the_root_is_level_one() -> None:
    assert summit.check_call(changed(CALL, params__inputs=deep(62))) == []
    assert rules_and_paths(summit.check_call(changed(CALL, params__inputs=deep(63)))) == [
        ("json.invalid", "/params/inputs")
    ]
    assert summit.check_reply(changed(RESULT, output=deep(63))) == []
    assert rules_and_paths(summit.check_reply(changed(RESULT, output=deep(64)))) == [
        ("json.invalid", "/output")
    ]


ORDER: list[tuple[str, dict[str, Any]]] = [
    ("json.invalid", {"params__inputs": deep(64)}),
    ("rpc.shape", {"zz": 1}),
    ("rpc.version", {"jsonrpc": "1.0"}),
    ("rpc.id", {"id": None}),
    ("params.shape", {"params__top": 1}),
    ("params.agent_id", {"params__agentId": "A"}),
    ("params.run_id", {"params__runId": "/"}),
    ("context.trace_id", {"params__context__traceId": "/"}),
    ("context.parent", {"params__context__parentRunId": ""}),
    ("context.size", {"params__context__note": "x" * 16_384}),
    ("budget.value", {"params__context__budget": {"usd": -1}}),
    ("caller.value", {"caller": ""}),
]


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_the_first_rule_of_a_call_decides(first: int) -> None:
    bad_members = {place: value for _, places in ORDER[first:] for place, value in places.items()}
    codes = [problem.rule for problem in summit.check_call(changed(CALL, **bad_members))]
    assert codes == [rule for rule, _ in ORDER[first:]]


REPLY_ORDER: list[tuple[str, dict[str, Any]]] = [
    ("reply.shape", {"replyId": "/"}),
    ("status.value", {"status": "failed"}),
    ("metrics.value", {"metrics__tokens": -1}),
    ("provenance.value", {"provenance__model": ""}),
    ("verification.value", {"verification": {"status": "?"}}),
    ("output.value", {"output": ...}),
]


@pytest.mark.parametrize("first", range(len(REPLY_ORDER)))
def test_the_first_rule_of_a_reply_decides(first: int) -> None:
    bad_members = {p: value for _, places in REPLY_ORDER[first:] for p, value in places.items()}
    reply = changed(RESULT, **bad_members)
    assert [p.rule for p in summit.check_reply(reply)] == [rule for rule, _ in REPLY_ORDER[first:]]
    if 0 < first < len(REPLY_ORDER) - 1:
        content = summit.reply_content(reply, "invoke")
        assert content.problem is not None
        assert content.late is not None
        assert content.problem.rule == REPLY_ORDER[first][0]


def test_sound_metrics_count_whatever_else_is_broken() -> None:
    content = summit.reply_content(changed(RESULT, status="no", provenance=...), "invoke")
    assert content.problem is not None
    assert (content.problem.rule, content.metrics) == ("status.value", RESULT["metrics"])


@pytest.mark.parametrize(("output", "fits"), [({}, True), ([], False), ("x", False), (None, False)])
def test_the_output_of_an_invoke_run_is_an_object(output: Any, fits: bool) -> None:
    reply = changed(RESULT, output=output)
    assert summit.check_reply(reply) == []
    assert summit.reply_content(reply, "tool").late is None
    late = summit.reply_content(reply, "invoke").late
    assert (late is None) is fits
    assert summit.reply_content(reply, "invoke").output_hash == summit.json_hash(output)


KINDS = {
    "progress": PROGRESS,
    "result": RESULT,
    "error": ERROR,
    "verification": VERIFICATION,
}


SAMPLES = {
    "status": None,
    "output": {},
    "error": ERROR["error"],
    "metrics": RESULT["metrics"],
    "provenance": RESULT["provenance"],
    "verification": {"status": "passed"},
    "message": "m",
}


TABLE = {
    "status": "-OO-",
    "output": "-R--",
    "error": "--R-",
    "metrics": "RRRO",
    "provenance": "ORRR",
    "verification": "-O-R",
    "message": "O---",
}
"""Summit guide, 2.4: of progress, result, error and verification."""


MISSING = {
    "output": "output.value",
    "error": "error.value",
    "metrics": "metrics.missing",
    "provenance": "provenance.missing",
    "verification": "reply.shape",
}


@pytest.mark.parametrize("member", TABLE)
@pytest.mark.parametrize("kind", KINDS)
def test_which_members_a_kind_has(kind: str, member: str) -> None:
    cell = TABLE[member][["progress", "result", "error", "verification"].index(kind)]
    sample = {"result": "completed", "error": "failed"}.get(kind, "x")
    with_it = {**KINDS[kind], member: SAMPLES[member] or sample}
    without = {name: value for name, value in KINDS[kind].items() if name != member}
    expected = [] if cell in "RO" else [("reply.shape", f"/{member}")]
    assert rules_and_paths(summit.check_reply(with_it)) == expected
    missing = [(MISSING[member], f"/{member}")] if cell == "R" else []
    assert rules_and_paths(summit.check_reply(without)) == missing


@settings(max_examples=example_count(200), deadline=None)
@given(JSON, st.sampled_from(FOLDERS), st.data())
def test_any_json_is_judged(value: Any, folder: str, data: st.DataObject) -> None:
    base = copy.deepcopy(data.draw(st.sampled_from(list(examples.valid(folder).values()))))
    owner, names = base, []
    while isinstance(owner, (dict, list)) and owner and data.draw(st.booleans()):
        keys = list(owner) if isinstance(owner, dict) else list(range(len(owner)))
        names.append((owner, data.draw(st.sampled_from(keys))))
        owner = names[-1][0][names[-1][1]]
    if names:
        names[-1][0][names[-1][1]] = value
    for one in (value, base):
        problems = validate(examples.KINDS[folder], one)
        assert all(problem.rule in {rule.code for rule in rules.ALL} for problem in problems)
        order = [problem.rule for problem in problems]
        assert order == sorted(order, key=order.index)
