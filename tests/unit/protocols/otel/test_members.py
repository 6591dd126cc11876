"""The dialect, type and members of spans: the tables of the guide, row by row."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.protocols.otel.conventions import CONVENTIONS, UNMASKED, parse
from streams.protocols.otel.span_members import (
    answer_of,
    arguments_of,
    has_timed_out,
    members_of,
    session_of,
)
from tests.unit.protocols.otel.support import whole_span
from tests.unit.schemas.strategies import JSON

OPERATION = "gen_ai.operation.name"
OPENINFERENCE = "openinference.span.kind"
TRACELOOP = "traceloop.span.kind"
REQUEST = "llm.request.type"


@pytest.mark.parametrize(
    ("attributes", "dialect", "span_type"),
    [
        *(
            ({OPERATION: o}, "genai", "model")
            for o in ("chat", "text_completion", "generate_content")
        ),
        ({OPERATION: "execute_tool"}, "genai", "tool"),
        *(({OPERATION: o}, "genai", "task") for o in ("invoke_agent", "invoke_workflow")),
        *(({OPERATION: o}, "genai", "other") for o in ("embeddings", "create_agent", "plan")),
        ({OPENINFERENCE: "LLM"}, "openinference", "model"),
        ({OPENINFERENCE: "TOOL"}, "openinference", "tool"),
        ({OPENINFERENCE: "AGENT"}, "openinference", "task"),
        *(({OPENINFERENCE: k}, "openinference", "other") for k in ("CHAIN", "RETRIEVER", "llm")),
        ({REQUEST: "chat"}, "openllmetry", "model"),
        ({REQUEST: "completion"}, "openllmetry", "model"),
        ({REQUEST: "embedding"}, "openllmetry", "other"),
        ({TRACELOOP: "tool"}, "openllmetry", "tool"),
        ({TRACELOOP: "workflow"}, "openllmetry", "task"),
        ({TRACELOOP: "agent"}, "openllmetry", "task"),
        ({TRACELOOP: "task"}, "openllmetry", "other"),
        ({"http.request.method": "GET"}, "none", "other"),
        ({OPERATION: "chat", OPENINFERENCE: "TOOL"}, "genai", "model"),
        ({OPENINFERENCE: "TOOL", TRACELOOP: "agent"}, "openinference", "tool"),
        ({OPERATION: "rerank", OPENINFERENCE: "LLM"}, "genai", "other"),
        ({OPERATION: None, OPENINFERENCE: "LLM"}, "openinference", "model"),
        ({OPERATION: 7}, "genai", "other"),
    ],
)
def test_a_span_belongs_to_the_first_dialect_that_it_has_an_attribute_of(
    attributes: dict[str, Any], dialect: str, span_type: str
) -> None:
    members = members_of(whole_span(attributes=attributes))
    assert (members.dialect, members.type) == (dialect, span_type)


@pytest.mark.parametrize(
    "attributes", [{}, {OPENINFERENCE: "CHAIN"}, {OPERATION: "plan"}, {TRACELOOP: "task"}]
)
def test_any_other_span_without_a_parent_is_a_task(attributes: dict[str, Any]) -> None:
    assert members_of(whole_span(attributes=attributes, parent_span_id=None)).type == "task"


def test_a_model_without_a_parent_is_no_task() -> None:
    root = whole_span(attributes={OPERATION: "chat"}, parent_span_id=None)
    assert members_of(root).type == "model"


TASK = {TRACELOOP: "agent"}
CHAINS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "session_id": (
        {},
        [
            "gen_ai.conversation.id",
            "session.id",
            "traceloop.association.properties.session_id",
        ],
    ),
    "agent": (
        TASK,
        [
            "gen_ai.agent.name",
            "agent.name",
            "gen_ai.workflow.name",
            "traceloop.workflow.name",
            "traceloop.entity.name",
        ],
    ),
    "tool": (
        {OPERATION: "execute_tool"},
        ["gen_ai.tool.name", "tool.name", "traceloop.entity.name"],
    ),
    "model": ({}, ["gen_ai.response.model", "gen_ai.request.model", "llm.model_name"]),
    "provider": (
        {},
        ["gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system"],
    ),
}


@pytest.mark.parametrize("member", CHAINS)
def test_the_first_attribute_that_is_there_counts(member: str) -> None:
    base, names = CHAINS[member]
    for number, name in enumerate(names):
        present = {each: f"of {each}" for each in names[number:]}
        members = members_of(whole_span(attributes={**base, **present}))
        assert getattr(members, member) == f"of {name}"


@pytest.mark.parametrize("member", CHAINS)
@pytest.mark.parametrize("useless", ["", None, 7, ["a"], {"a": 1}])
def test_an_attribute_that_is_no_text_counts_as_absent(member: str, useless: Any) -> None:
    base, names = CHAINS[member]
    attributes = {**base, names[0]: useless, names[1]: "second"}
    assert getattr(members_of(whole_span(attributes=attributes)), member) == "second"


def test_an_agent_is_named_by_its_span_by_its_program_or_not_at_all() -> None:
    resource = {"service.name": "weather-bot"}
    openinference = whole_span("planner", attributes={OPENINFERENCE: "AGENT"}, resource=resource)
    assert members_of(openinference).agent == "planner"
    chain = whole_span("planner", attributes={OPENINFERENCE: "CHAIN"}, resource=resource)
    assert members_of(chain).agent == "weather-bot"
    tool = {TRACELOOP: "tool", "traceloop.entity.name": "search"}
    assert members_of(whole_span(attributes=tool)).agent == "unknown"


def test_a_tool_without_another_name_has_the_name_of_its_span() -> None:
    tool = {OPERATION: "execute_tool"}
    assert members_of(whole_span("search", attributes=tool)).tool == "search"
    assert members_of(whole_span("search", attributes={"gen_ai.tool.name": "x"})).tool is None


@pytest.mark.parametrize(
    ("member", "names"),
    [
        (
            "input_tokens",
            ["gen_ai.usage.input_tokens", "llm.token_count.prompt", "gen_ai.usage.prompt_tokens"],
        ),
        (
            "output_tokens",
            [
                "gen_ai.usage.output_tokens",
                "llm.token_count.completion",
                "gen_ai.usage.completion_tokens",
            ],
        ),
    ],
)
def test_tokens_are_the_first_whole_number(member: str, names: list[str]) -> None:
    for number, name in enumerate(names):
        attributes = dict.fromkeys(names[number:], number + 5) | {name: 3}
        assert getattr(members_of(whole_span(attributes=attributes)), member) == 3
    for useless in (True, 1.5, -1, "12", None):
        members = members_of(whole_span(attributes={names[0]: useless, names[1]: 0}))
        assert getattr(members, member) == 0


@pytest.mark.parametrize(
    ("changes", "failed", "timed_out"),
    [
        ({}, False, False),
        ({"status": "OK"}, False, False),
        ({"status": "ERROR"}, True, False),
        ({"attributes": {"error.type": "ValueError"}}, True, False),
        ({"attributes": {"error.type": "ReadTimeoutError"}}, True, True),
        ({"status": "OK", "attributes": {"error.type": "TIMEOUT"}}, True, True),
        ({"status": "ERROR", "attributes": {"error.type": 504}}, True, False),
    ],
)
def test_a_span_has_failed_by_its_status_or_by_its_error(
    changes: dict[str, Any], failed: bool, timed_out: bool
) -> None:
    value = whole_span(**changes)
    assert (members_of(value).failed, has_timed_out(value)) == (failed, timed_out)


def test_a_session_is_an_id_of_at_most_256_characters() -> None:
    names = CHAINS["session_id"][1]
    long = {names[0]: "x" * 257, names[1]: "y" * 256}
    assert session_of(whole_span(attributes=long)) == "y" * 256
    assert session_of(whole_span(attributes={names[0]: "x" * 257})) is None


ARGUMENTS = [
    "gen_ai.tool.call.arguments",
    "tool.parameters",
    "input.value",
    "traceloop.entity.input",
]


@pytest.mark.parametrize(
    ("value", "arguments"),
    [
        ({"city": "Tallinn"}, {"city": "Tallinn"}),
        ('{"city": "Tallinn"}', {"city": "Tallinn"}),
        ("Tallinn", {"input": "Tallinn"}),
        ("", {"input": ""}),
        ("[1]", {"input": "[1]"}),
        ('{"a": 1, "a": 2}', {"input": '{"a": 1, "a": 2}'}),
        ('{"a": 1e999}', {"input": '{"a": 1e999}'}),
        (["a", 1], {"input": ["a", 1]}),
        (7, {"input": 7}),
    ],
)
def test_arguments_are_an_object_or_become_its_member(value: Any, arguments: Any) -> None:
    for number, name in enumerate(ARGUMENTS):
        attributes = dict.fromkeys(ARGUMENTS[number:], "another") | {name: value}
        assert arguments_of(whole_span(attributes=attributes)) == arguments


def test_a_tool_without_input_has_no_arguments() -> None:
    assert arguments_of(whole_span(attributes={ARGUMENTS[0]: None})) == {}


def message(*contents: str) -> dict[str, Any]:
    parts = [{"type": "text", "content": content} for content in contents]
    return {"role": "assistant", "parts": [{"type": "tool_call", "id": "1"}, *parts]}


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({}, ""),
        ({"gen_ai.output.messages": [message("a", "b"), message("c")]}, "a\nb\nc"),
        ({"gen_ai.output.messages": '[{"parts": [{"type": "text", "content": "a"}]}]'}, "a"),
        ({"gen_ai.output.messages": "[", "output.value": "b"}, "b"),
        ({"gen_ai.output.messages": [7, {"parts": 7}, {"parts": [7]}], "output.value": "b"}, "b"),
        (
            {f"llm.output_messages.{n}.message.content": str(n) for n in (10, 2, 0)},
            "0\n2\n10",
        ),
        (
            {
                "llm.output_messages.0.message.contents.1.message_content.text": "b",
                "llm.output_messages.0.message.contents.0.message_content.text": "a",
                "llm.output_messages.0.message.contents.0.message_content.type": "text",
            },
            "a\nb",
        ),
        ({"gen_ai.completion.1.content": "b", "gen_ai.completion.0.content": "a"}, "a\nb"),
        ({"output.value": "a", "output.mime_type": "text/plain"}, "a"),
        ({"output.value": '{"a": 1}', "output.mime_type": "application/json"}, ""),
        ({"gen_ai.completion.0.content": "a", "output.value": "b"}, "a"),
        ({"llm.output_messages.x.message.content": "a", "output.value": 7}, ""),
    ],
)
def test_the_answer_of_a_model_is_its_text_by_number(attributes: Any, text: str) -> None:
    assert answer_of(whole_span(attributes=attributes)) == text


@given(attributes=st.dictionaries(st.sampled_from(sorted(UNMASKED) + ARGUMENTS), JSON))
def test_any_attributes_have_members(attributes: dict[str, Any]) -> None:
    value = whole_span(attributes=attributes)
    members = members_of(value)
    assert members.type in ("model", "tool", "task", "other")
    assert members.agent
    assert isinstance(arguments_of(value), dict)
    assert isinstance(answer_of(value), str)


def test_each_dialect_names_the_packages_it_was_compared_with() -> None:
    assert [each.name for each in CONVENTIONS.dialect] == ["genai", "openinference", "openllmetry"]
    assert all(each.checked for each in CONVENTIONS.dialect)


def test_no_source_of_free_text_is_left_unmasked() -> None:
    assert not UNMASKED & {*ARGUMENTS, "output.value", "gen_ai.output.messages"}


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ('error = ["error.type"]', 'error = [{ attribute = "a", resource = "b" }]'),
        ('error = ["error.type"]', "errors = []"),
        ('checked = ["opentelemetry-instrumentation-langchain 0.62.4"]', "checked = []"),
    ],
)
def test_conventions_that_are_wrong_are_refused(line: str, changed: str) -> None:
    from importlib.resources import files

    text = files("topology").joinpath("otel/incoming.toml").read_text("utf-8")
    assert line in text
    with pytest.raises(ValueError, match="validation error"):
        parse(text.replace(line, changed))
