"""The objects of SAP as programs use them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import Problem, ShapeError, sap
from tests.unit.schemas import examples
from tests.unit.schemas.strategies import JSON

MODELS: dict[str, type[sap.Envelope]] = {
    "tasks": sap.SapTask,
    "results": sap.SapResult,
    "signals": sap.SapSignal,
}
EXAMPLES = [(folder, name) for folder in MODELS for name in examples.valid(f"sap/{folder}")]
TASK = examples.valid("sap/tasks")["task"]


@pytest.mark.parametrize(("folder", "name"), EXAMPLES)
def test_a_model_gives_back_what_it_was_made_of_but_for_nulls(folder: str, name: str) -> None:
    value = examples.valid(f"sap/{folder}")[name]
    model = MODELS[folder].from_json(value)
    assert model.to_json() == {member: item for member, item in value.items() if item is not None}
    assert model == MODELS[folder].from_json(json.dumps(value))
    assert model.validate() == []


def test_attributes_are_spelled_as_on_the_wire_and_extras_kept_apart() -> None:
    task = sap.SapTask.from_json(examples.valid("sap/tasks")["unknown_members"])
    assert task.constitutionalContext.cachePolicy is not None
    assert task.constitutionalContext.cachePolicy.maxAgeSec == 3600
    assert task.constitutionalContext.cachePolicy.extra == {"region": "eu"}
    assert task.attachments is not None
    assert task.attachments[0].uri == "s3://ledgers/2026-10.csv"
    assert task.extra == {"x-shard": {"n": None, "of": [1, 2]}}
    assert task.parentTaskId is None


def test_a_task_can_be_made_by_hand() -> None:
    task = sap.SapTask(
        taskId=TASK["taskId"],
        correlationId=TASK["correlationId"],
        issuedAt="2026-10-05T09:00:00Z",
        issuer=sap.SapParty(agentId="cron", agentKind="system"),
        target=sap.SapTarget(capability="ping"),
        constitutionalContext=sap.SapContext(pressureLevel="instant"),
        payload={},
    )
    assert task.validate() == []
    assert task.to_json()["protocolVersion"] == "2.0"


def test_a_model_holds_what_is_wrong_and_says_so() -> None:
    task = sap.SapTask.from_json({**TASK, "issuer": "me", "payload": ...})
    problem = task.validate()[0]
    assert isinstance(problem, Problem)
    assert [(each.rule, each.path) for each in task.validate()] == [
        ("bad_type", "/issuer"),
        ("bad_json", "/payload"),
        ("bad_type", "/payload"),
    ]


def test_absent_members_are_missing_when_validated() -> None:
    missing = {problem.path for problem in sap.SapResult.from_json({}).validate()}
    assert missing >= {"/taskId", "/producer", "/status", "/constitutionalEvidence"}


@pytest.mark.parametrize("value", [None, [], 1, "[]", b"1"])
def test_what_is_no_object_is_no_model(value: Any) -> None:
    with pytest.raises(ShapeError) as caught:
        sap.SapTask.from_json(value)
    assert caught.value.rule == "bad_type"


@pytest.mark.parametrize("text", ["{", b"\xff", '{"a":1,"a":2}'])
def test_what_is_no_json_is_told(text: str | bytes) -> None:
    with pytest.raises(ShapeError) as caught:
        sap.SapTask.from_json(text)
    assert caught.value.rule == "bad_json"


@given(st.dictionaries(st.sampled_from([*TASK, "x"]), JSON))
def test_any_object_goes_through_a_model(value: dict[str, Any]) -> None:
    model = sap.SapTask.from_json(value)
    assert sap.validate_task(model.to_json()) == model.validate()


@pytest.mark.parametrize("kind", ["task", "sap.task"])
def test_json_and_models_are_validated_by_kind(kind: str) -> None:
    assert sap.validate(kind, TASK) == sap.validate(kind, sap.SapTask.from_json(TASK)) == []
    assert sap.validate(kind, {})[0].rule == "missing_field"
    with pytest.raises(KeyError):
        sap.validate("packet", TASK)


CACHE = {
    None: ("bypass", None, True),
    "{}": ("prefer", None, True),
    '{"mode":"only","maxAgeSec":0,"mustAlign":false}': ("only", 0, False),
    '{"mode":"bypass","maxAgeSec":5}': ("bypass", 5, True),
}


@pytest.mark.parametrize("policy", CACHE)
def test_what_a_task_does_not_say_about_the_cache(policy: str | None) -> None:
    context: dict[str, Any] = {"pressureLevel": "instant"}
    if policy is not None:
        context["cachePolicy"] = json.loads(policy)
    assert sap.effective_cache({**TASK, "constitutionalContext": context}) == CACHE[policy]


def test_pressure_for_a_principle_that_is_not_listed_is_warned_of() -> None:
    context = {**TASK["constitutionalContext"], "principles": ["strategic_pause"]}
    warnings = sap.task_warnings({**TASK, "constitutionalContext": context})
    assert warnings == ["pressure_for_unlisted_principle"]
    assert sap.task_warnings(TASK) == []


@pytest.mark.parametrize(
    ("changes", "warnings"),
    [
        ({"status": "RUNNING"}, []),
        ({"status": "ESCALATED"}, ["escalated_without_next_actions"]),
        ({"status": "ESCALATED", "nextActions": []}, ["escalated_without_next_actions"]),
        ({"status": "PARTIAL", "nextActions": [{}]}, []),
        ({"status": "PARTIAL"}, ["partial_without_next_actions"]),
        ({"status": "FAILED", "error": {"code": "TIMEOUT", "message": "m"}}, []),
        ({"status": "FAILED", "error": {"code": "E17", "message": "m"}}, ["unknown_error_code"]),
    ],
)
def test_warnings_of_results(changes: dict[str, Any], warnings: list[str]) -> None:
    result = {**examples.valid("sap/results")["running"], **changes}
    assert sap.result_warnings(result) == warnings
