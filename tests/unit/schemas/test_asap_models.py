"""Every field of every model, with its type and bounds, as the spec has them (2.1 to 2.5)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from types import GenericAlias
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from schemas import asap
from schemas.asap import (
    ASAPBaseModel,
    Part,
    Payload,
    TaskStatus,
    normalize_payload_type,
    spelling,
)
from schemas.asap.spelling import dotted, kebab, respell, snake
from tests.unit.schemas.asap_tables import FIELDS, PAYLOADS, Field, example

PARTS = ("TextPart", "DataPart", "FilePart", "ResourcePart", "TemplatePart")


def model(name: str) -> type[ASAPBaseModel]:
    model_class: type[ASAPBaseModel] = getattr(asap, name)
    return model_class


def cases(good: bool) -> Iterator[Any]:
    for name, fields in FIELDS.items():
        for field in fields:
            for i, value in enumerate(field.good() if good else field.bad()):
                if name != "McpToolResult" or field.name not in ("success", "result", "error"):
                    yield pytest.param(name, field, value, id=f"{name}-{field.name}-{i}")


@pytest.mark.parametrize(("name", "field", "value"), [*cases(good=True)])
def test_values_of_a_fields_type_are_taken(name: str, field: Field, value: Any) -> None:
    made = model(name).model_validate({**example(name), field.name: value})
    output = made.model_dump(mode="json")[field.name]
    if field.type in ("str", "urn", "version", "mime", "base64", "obj", "progress"):
        assert output == value
    if value is None:
        assert output is None


@pytest.mark.parametrize(("name", "field", "value"), [*cases(good=False)])
def test_other_values_are_refused(name: str, field: Field, value: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        model(name).model_validate({**example(name), field.name: value})
    assert {error["loc"][0] for error in caught.value.errors()} == {field.name}


@pytest.mark.parametrize("name", FIELDS)
def test_fields_without_default_are_required_and_the_others_have_theirs(name: str) -> None:
    needed = {field.name for field in FIELDS[name] if field.default is ...}
    schema = model(name).model_json_schema()
    assert set(schema.get("required", ())) == needed
    assert schema["type"] == "object"
    assert schema["title"] == name
    assert schema["additionalProperties"] is False
    minimal = {member: value for member, value in example(name).items() if member in needed}
    if name == "McpToolResult":
        minimal["result"] = {}
    output = model(name).model_validate(minimal).model_dump(mode="json")
    for field in FIELDS[name]:
        if field.default is not ... and field.name not in minimal:
            assert output[field.name] == field.default
    for member in needed:
        incomplete = {other: value for other, value in minimal.items() if other != member}
        with pytest.raises(ValidationError):
            model(name).model_validate(incomplete)


@pytest.mark.parametrize("name", FIELDS)
def test_unknown_members_are_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="extra_forbidden"):
        model(name).model_validate({**example(name), "more": 1})


@pytest.mark.parametrize("name", FIELDS)
def test_models_are_frozen_and_copied_without_checks(name: str) -> None:
    made = model(name).model_validate(example(name))
    member = FIELDS[name][0].name
    with pytest.raises(ValidationError, match="frozen"):
        setattr(made, member, "other")
    assert getattr(made.model_copy(update={member: 7}), member) == 7


@pytest.mark.parametrize("name", FIELDS)
def test_what_is_shown_has_all_members_and_is_read_again(name: str) -> None:
    made = model(name).model_validate(example(name))
    text = made.model_dump_json()
    extra_members = {"payload_type"} if name in PAYLOADS else set()
    assert set(json.loads(text)) == {field.name for field in FIELDS[name]} | extra_members
    assert model(name).model_validate_json(text) == made


def test_texts_that_callers_match() -> None:
    for name, member, value, text in (
        ("Agent", "id", "x", "must follow URN format"),
        ("Manifest", "version", "x y", "Invalid semantic version"),
        ("FilePart", "mime_type", "x", "Invalid MIME type format"),
        ("FilePart", "inline_data", "x", "inline_data must be valid base64"),
        ("TaskUpdate", "progress", {"percent": "4"}, "progress.percent must be a number"),
        ("TaskUpdate", "progress", {"percent": 101}, "progress.percent must be between 0 and 100"),
        (
            "TaskUpdate",
            "progress",
            {"percent": math.nan},
            "progress.percent must be between 0 and 100",
        ),
    ):
        with pytest.raises(ValidationError, match=text):
            model(name).model_validate({**example(name), member: value})


@pytest.mark.parametrize(
    ("success", "result", "error", "valid"),
    [
        (success, result, error, (result is not None) is success and (error is None) is success)
        for success in (True, False)
        for result in (None, {}, {"a": 1})
        for error in (None, "", "broken")
    ],
)
def test_a_tool_result_has_a_result_or_an_error(
    success: bool, result: Any, error: Any, valid: bool
) -> None:
    fields = {"request_id": "r", "success": success, "result": result, "error": error}
    if valid:
        asap.McpToolResult.model_validate(fields)
    else:
        with pytest.raises(ValidationError, match="when success is"):
            asap.McpToolResult.model_validate(fields)


def test_datetimes_show_six_digits_when_there_are_microseconds_and_keep_no_zone_if_naive() -> None:
    for text, expected in (
        ("2026-11-21T10:00:00Z", "2026-11-21T10:00:00Z"),
        ("2026-11-21T10:00:00.5Z", "2026-11-21T10:00:00.500000Z"),
        ("2026-11-21T10:00:00", "2026-11-21T10:00:00"),
    ):
        task = asap.Task.model_validate({**example("Task"), "created_at": text})
        assert task.model_dump(mode="json")["created_at"] == expected


@pytest.mark.parametrize("name", PARTS)
def test_the_part_adapter_reads_and_writes_each_part(name: str) -> None:
    fields = example(name)
    part = Part.validate_python(fields)
    assert type(part).__name__ == name
    assert Part.validate_json(json.dumps(fields)) == part
    assert Part.dump_python(part) == part.model_dump()
    assert json.loads(Part.dump_json(part)) == part.model_dump(mode="json")
    annotation: Any = GenericAlias(list, (Part,))
    parts: TypeAdapter[Any] = TypeAdapter(annotation)
    assert parts.validate_python([fields]) == [part]


def test_a_wrong_tag_and_a_missing_tag_are_two_errors() -> None:
    for adapter, tag in ((Part, "type"), (Payload, "payload_type")):
        kinds = []
        for value in ({tag: "sound"}, {"content": ""}):
            with pytest.raises(ValidationError) as caught:
                adapter.validate_python(value)
            kinds.append(caught.value.errors()[0]["type"])
        assert kinds == ["union_tag_invalid", "union_tag_not_found"]


def test_parts_and_payloads_have_schemas() -> None:
    for adapter, names in ((Part, PARTS), (Payload, PAYLOADS)):
        for schema in (adapter.model_json_schema(), adapter.json_schema()):
            assert set(names) <= set(schema["$defs"])


def spellings(name: str) -> list[str]:
    styles = (name, name.lower(), name.upper(), dotted(name), snake(name), kebab(name))
    return [*styles, dotted(name).upper(), f" {kebab(name)}! "]


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name in PAYLOADS for text in spellings(name)]
)
def test_payload_types_are_taken_in_any_spelling(name: str, text: str) -> None:
    assert normalize_payload_type(text) == name
    fields = {**example(name), "payload_type": text}
    for made in (
        model(name).model_validate(fields),
        Payload.validate_python(fields),
        Payload.validate_json(json.dumps(fields)),
        asap.parse_payload(text, example(name)),
    ):
        assert isinstance(made, BaseModel)
        assert type(made).__name__ == name
        assert made.model_dump()["payload_type"] == name


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_payload_refuses_the_type_of_another(name: str) -> None:
    for other in (*set(PAYLOADS) - {name}, "TaskPause", "", None, 1):
        with pytest.raises(ValidationError):
            model(name).model_validate({**example(name), "payload_type": other})


def test_a_long_spelling_is_understood_and_not_remembered() -> None:
    before = spelling._match_letters_cached.cache_info()
    assert normalize_payload_type("task" + "." * 100_000 + "request") == "TaskRequest"
    assert normalize_payload_type("x" * 100_000) is None
    assert spelling._match_letters_cached.cache_info() == before


@pytest.mark.parametrize("text", ["", "Task", "TaskRequests", "request.task", "täskrequest"])
def test_other_texts_are_no_payload_type(text: str) -> None:
    assert normalize_payload_type(text) is None
    with pytest.raises(asap.MalformedEnvelopeError, match="unknown payload type"):
        asap.parse_payload(text, {})


def test_a_payload_that_does_not_fit_says_why() -> None:
    with pytest.raises(asap.MalformedEnvelopeError) as caught:
        asap.parse_payload("task.cancel", {"reason": 1})
    assert caught.value.details == {
        "validation_errors": [
            {"rule": "bad_payload", "path": "/payload/task_id", "message": "task_id is missing."},
            {
                "rule": "bad_payload",
                "path": "/payload/reason",
                "message": "reason must be a string.",
            },
        ]
    }


def test_styles_of_payload_types_are_kept() -> None:
    for like, expected in (
        ("TaskRequest", "McpToolResult"),
        ("task.request", "mcp.tool.result"),
        ("task_request", "mcp_tool_result"),
        ("TASK-REQUEST", "mcp-tool-result"),
        ("taskrequest", "McpToolResult"),
    ):
        assert respell("McpToolResult", like) == expected


def test_statuses_know_which_are_terminal() -> None:
    ends = {"completed", "failed", "cancelled", "rejected"}
    assert TaskStatus.terminal_states() == {TaskStatus(word) for word in ends}
    for status in TaskStatus:
        task = asap.Task.model_validate({**example("Task"), "status": status})
        assert status.is_terminal() is task.is_terminal() is (status.value in ends)
        assert task.can_be_cancelled() is (status.value not in ends)
    assert str(TaskStatus.SUBMITTED) == "TaskStatus.SUBMITTED"
