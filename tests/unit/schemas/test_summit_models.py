"""The models of Summit hold what they are given, and go to JSON and Avro and back (6.5)."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from dataclasses import fields
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings

from schemas import ShapeError, decode, encode, summit
from schemas.objects import members_of
from schemas.sources import self_contained
from schemas.summit import (
    ABSENT,
    Budget,
    CancelParams,
    Check,
    Context,
    InvokeParams,
    Metrics,
    Provenance,
    RunError,
    SummitCall,
    SummitManifest,
    SummitObject,
    SummitReply,
    ToolCallParams,
    ToolDefinition,
    Verification,
)
from schemas.summit.export import RECORDS, avro_sources
from schemas.summit.words import EVENT_RECORD, RUN_RECORD
from tests.examples import example_count
from tests.unit.schemas import examples
from tests.unit.schemas.strategies import values

MODELS = {
    name: model
    for name, model in vars(summit).items()
    if inspect.isclass(model) and issubclass(model, SummitObject) and model is not SummitObject
}
ANSWERS = {"ToolResult", "RunResult"}
SOURCES = files("schemas") / "avro" / "summit"
SENT: dict[str, type[SummitObject]] = {
    "summit/manifests": SummitManifest,
    "summit/calls": SummitCall,
    "summit/replies": SummitReply,
}
EXAMPLES = [(folder, name) for folder in SENT for name in examples.valid(folder)]


def members(schema: dict[str, Any]) -> set[str]:
    """Return the names of a record's members, as JSON has them."""
    names = {field["name"].removesuffix("_json") for field in schema["fields"]}
    return names - {"extra"}


@pytest.mark.parametrize("name", sorted(MODELS.keys() - ANSWERS))
def test_a_model_has_the_members_of_its_record(name: str) -> None:
    schema = self_contained(f"headrace.summit.{name}")
    assert {member.name for member in members_of(MODELS[name])} == members(schema)


def test_every_model_with_an_avro_form_is_a_record() -> None:
    assert {model.__name__ for model in RECORDS} == MODELS.keys() - ANSWERS


def test_the_avro_sources_are_those_of_the_models() -> None:
    committed = {path.name: path.read_text("utf-8") for path in SOURCES.iterdir()}
    by_hand = {"SummitReplyKnown.avsc"}
    assert avro_sources().keys() == {f"summit/{name}" for name in committed.keys() - by_hand}
    stale = [path for path, text in avro_sources().items() if committed[path[7:]] != text]
    assert stale == [], "run: python -m schemas.build"


def test_an_annotation_states_the_avro_type_of_a_member() -> None:
    run = json.loads(avro_sources()["summit/SummitRun.avsc"])
    by_name = {field["name"]: field for field in run["fields"]}
    assert by_name["createdAt"]["type"] == {"type": "long", "logicalType": "timestamp-millis"}
    assert by_name["state"] == {"name": "state", "type": "RunState"}
    assert by_name["verificationStatus"]["type"] == ["null", "VerificationStatus"]
    assert by_name["verificationStatus"]["doc"] == "the stricter of both"
    assert by_name["contextExtra_json"]["type"] == ["null", "string"]


def test_every_record_of_the_spec_has_a_model() -> None:
    named = {
        *("SummitManifest", "ToolDefinition", "ToolCall", "ToolResult", "SummitCall"),
        *("InvokeParams", "ToolCallParams", "CancelParams", "Context", "Budget", "Delivery"),
        *("SummitReply", "Metrics", "Provenance", "Verification", "RunError", "RunResult"),
        *("SummitRun", "SummitAgent", "SummitEvent"),
    }
    assert named <= MODELS.keys()


@pytest.mark.parametrize(("folder", "name"), EXAMPLES)
def test_examples_go_to_json_and_avro_and_back(folder: str, name: str) -> None:
    value, model = examples.valid(folder)[name], SENT[folder]
    form = summit.manifest_form(value) if model is SummitManifest else value
    made = model.from_json(value)
    assert made.to_json() == form
    assert made.check() == []
    record = f"headrace.summit.{model.__name__}"
    read = model.from_avro(decode(encode(record, made.to_avro()), record).value)
    assert read == made == pickle.loads(pickle.dumps(made)) == copy.deepcopy(made)


@pytest.mark.parametrize("name", sorted(MODELS.keys() - ANSWERS - {"SummitCall"}))
def test_any_avro_value_goes_to_a_model_and_back(name: str) -> None:
    record, model = f"headrace.summit.{name}", MODELS[name]

    @settings(max_examples=example_count(40), deadline=None)
    @given(values(record))
    def check(value: dict[str, Any]) -> None:
        made = model.from_avro(value)
        assert model.from_json(made.to_json()) == made
        assert model.from_avro(made.to_avro()) == made
        assert all(isinstance(problem.rule, str) for problem in made.check())

    check()


def test_params_are_those_of_the_method() -> None:
    calls = examples.valid("summit/calls")
    types = {name: type(SummitCall.from_json(call).params) for name, call in calls.items()}
    assert types["seed"] is types["invoke"] is InvokeParams
    assert types["tool_call"] is ToolCallParams
    assert types["cancel"] is types["cancel_notification"] is CancelParams
    other = SummitCall.from_json({**calls["cancel"], "method": "agent.stop"})
    assert other.to_json()["params"] == calls["cancel"]["params"]
    assert other.check()[0].rule == "rpc.method"


def test_programs_make_envelopes_of_parts() -> None:
    call = SummitCall(
        id=1,
        method="agent.invoke",
        params=InvokeParams(
            agentId="deep-researcher",
            runId="run-12345",
            inputs={"query": "status of quantum computing in 2026"},
            context=Context(traceId="trace-abc", budget=Budget(usd=0.5)),
        ),
    )
    assert call.to_json() == examples.valid("summit/calls")["seed"]
    reply = SummitReply(
        replyId="final",
        runId="run-7f2",
        agentId="word-stats",
        kind="result",
        output={"words": 6, "top": ["be", "to", "not"]},
        metrics=Metrics(tokens=0, cost_usd=0, latency_ms=3),
        provenance=Provenance(model="none", timestamp="2026-03-02T09:00:00.410Z"),
    )
    assert reply.to_json() == examples.valid("summit/replies")["result"]


def test_null_is_a_value_of_output_and_data() -> None:
    reply = SummitReply.from_json({"output": None, "kind": "result"})
    assert (reply.output, SummitReply.from_json({}).output) == (None, ABSENT)
    assert reply.to_json() == {"kind": "result", "output": None}
    error = RunError(code=1, message="m", data=None)
    assert error.to_avro()["data_json"] == "null"
    assert RunError.from_avro(error.to_avro()) == error
    assert RunError(code=1, message="m").to_avro()["data_json"] is None
    assert SummitCall.from_json({"id": None}).to_json() == {"id": None}
    assert not ABSENT
    assert repr(ABSENT) == "ABSENT"


def test_what_is_wrong_is_kept_and_told() -> None:
    made = SummitCall.from_json({"jsonrpc": 2, "params": [1], "zz": {"a": 1}, "method": []})
    assert made.to_json() == {"jsonrpc": 2, "params": [1], "zz": {"a": 1}, "method": []}
    assert made.check()[0].rule == "rpc.shape"
    with pytest.raises(ShapeError) as refused:
        made.to_avro()
    assert refused.value.rule == "params.shape"


@pytest.mark.parametrize(
    ("model", "value", "rule"),
    [
        (SummitCall, "[]", "rpc.shape"),
        (SummitCall, b"{", "json.invalid"),
        (SummitReply, 1, "reply.shape"),
        (SummitManifest, None, "manifest.shape"),
        (Budget, [], "params.shape"),
    ],
)
def test_what_is_no_object_is_refused(model: Any, value: Any, rule: str) -> None:
    with pytest.raises(ShapeError) as refused:
        model.from_json(value)
    assert refused.value.rule == rule


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Budget(usd=1), []),
        (Budget(usd=-1), [("budget.value", "/usd")]),
        (Budget.from_json({"eur": 1}), [("budget.key", "/eur")]),
        (Context(traceId="/"), [("context.trace_id", "/traceId")]),
        (Context(budget=Budget(seconds=0)), [("budget.value", "/budget/seconds")]),
        (CancelParams(runId="r", reason=""), [("params.reason", "/reason")]),
        (InvokeParams(agentId="A", runId="r", inputs={}), [("params.agent_id", "/agentId")]),
        (Metrics(tokens=-1, cost_usd=0), [("metrics.value", "/tokens")]),
        (Metrics.from_json({"tokens": 1, "cost_usd": 1, "x": 1}), [("reply.shape", "/x")]),
        (Provenance(model="m", timestamp="now"), [("provenance.value", "/timestamp")]),
        (Provenance.from_json({"model": "m", "x": 1}), [("provenance.value", "/timestamp")]),
        (Verification(status="passed", score=2), [("verification.value", "/score")]),
        (
            Verification(status="passed", checks=[Check(name="", passed=True)]),
            [("verification.value", "/checks/0/name")],
        ),
        (RunError(code=-32600, message="m"), [("error.value", "/code")]),
        (
            ToolDefinition(name="t", description="d", arguments={}),
            [("manifest.schema", "/arguments/type")],
        ),
        (
            ToolDefinition.from_json({"name": "t"}),
            [("manifest.tool", "/description"), ("manifest.tool", "/arguments")],
        ),
    ],
)
def test_parts_are_checked_by_themselves(part: SummitObject, expected: list[Any]) -> None:
    assert [(problem.rule, problem.path) for problem in part.check()] == expected


def test_tools_are_read_and_written_as_mcp_has_them() -> None:
    tool = examples.valid("summit/manifests")["word-stats"]["spec"]["tools"][0]
    mcp = {
        "name": tool["name"],
        "description": tool["description"],
        "inputSchema": tool["arguments"],
    }
    for made in (ToolDefinition.from_json(tool), ToolDefinition.from_json(mcp)):
        assert made.to_json() == tool
        assert made.to_mcp() == mcp
    differing = ToolDefinition.from_json({**tool, "inputSchema": {"type": "object"}})
    assert [problem.rule for problem in differing.check()] == ["manifest.tool"]


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_answers_have_no_avro_form(name: str) -> None:
    model = MODELS[name]
    made = model.from_json({})
    assert made.check() == []
    with pytest.raises(TypeError):
        made.to_avro()
    with pytest.raises(TypeError):
        model.from_avro({})


@settings(max_examples=example_count(60), deadline=None)
@given(values(RUN_RECORD), values(EVENT_RECORD))
def test_rows_are_not_for_the_edges_to_judge(run: Any, event: Any) -> None:
    assert summit.SummitRun.from_avro(run).check() == []
    assert summit.SummitEvent.from_avro(event).check() == []


def test_extra_members_are_attributes_of_every_model() -> None:
    for model in MODELS.values():
        assert "extra" in {field.name for field in fields(model)}
