"""The exported JSON Schemas of ASAP say what the models say, as far as JSON Schema can (2.9)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from schemas import asap
from schemas.asap import SCHEMA_REGISTRY, TOTAL_SCHEMA_COUNT, get_schema_json
from schemas.asap.spelling import kebab
from tests.unit.schemas import examples
from tests.unit.schemas.asap_tables import FIELDS, PAYLOADS, Field, example

COMMITTED = Path(str(files("schemas").joinpath("json/asap")))
NAMES = [
    *("agent", "manifest", "conversation", "task", "message", "artifact", "state_snapshot"),
    *("text_part", "data_part", "file_part", "resource_part", "template_part"),
    *("task_request", "task_response", "task_update", "task_cancel"),
    *("message_send", "state_query", "state_restore", "artifact_notify"),
    *("mcp_tool_call", "mcp_tool_result", "mcp_resource_fetch", "mcp_resource_data"),
    "envelope",
]
LAX: dict[str, tuple[Any, ...]] = {
    "int": ("3", True),
    "positive": ("3",),
    "bool": ("true", 0),
    "dt": (1_790_000_000,),
}
"""Values that only pydantic's lax mode takes."""
BEYOND = ("version", "dt")
"""Types whose texts follow rules that JSON Schema does not have, or does not assert."""


@cache
def validator(name: str) -> Draft202012Validator:
    """Of the committed file."""
    path = dict(asap.list_schema_entries(COMMITTED))[name]
    schema = json.loads(path.read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def snake(name: str) -> str:
    return kebab(name).replace("-", "_")


def test_there_are_25_names() -> None:
    assert list(SCHEMA_REGISTRY) == NAMES
    assert len(NAMES) == TOTAL_SCHEMA_COUNT == 25


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_its_models_and_its_committed_file(name: str) -> None:
    schema = get_schema_json(name)
    assert schema == SCHEMA_REGISTRY[name].model_json_schema() == validator(name).schema
    assert snake(schema["title"]) == name
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False


def test_the_part_has_a_schema_beside_them() -> None:
    text = COMMITTED.joinpath("entities/part.schema.json").read_text("utf-8")
    checker = Draft202012Validator(json.loads(text))
    assert json.loads(text) == get_schema_json("part")
    for name in FIELDS:
        if name.endswith("Part"):
            assert checker.is_valid(example(name))
    assert not checker.is_valid({"type": "sound"})
    assert not checker.is_valid({"content": ""})


def test_another_name_is_refused() -> None:
    with pytest.raises(ValueError, match="Unknown schema name"):
        get_schema_json("capability")


def test_schemas_are_exported_to_the_folders_of_the_spec(tmp_path: Path) -> None:
    written = asap.export_all_schemas(tmp_path)
    entries = asap.list_schema_entries(tmp_path)
    assert [path for _, path in entries] == written
    assert [name for name, _ in entries] == NAMES
    assert entries[12] == ("task_request", tmp_path / "payloads" / "task-request.schema.json")
    assert entries[-1] == ("envelope", tmp_path / "envelope.schema.json")
    assert set(tmp_path.rglob("*.json")) == set(written)
    before = {path: path.read_bytes() for path in written}
    asap.export_all_schemas(tmp_path)
    assert {path: path.read_bytes() for path in written} == before
    for path, text in before.items():
        assert text == (COMMITTED / path.relative_to(tmp_path)).read_bytes()


def test_one_schema_is_exported_anywhere(tmp_path: Path) -> None:
    path = asap.export_schema(asap.Agent, tmp_path / "new" / "agent.json")
    assert json.loads(path.read_text("utf-8")) == get_schema_json("agent")


def cases() -> Iterator[tuple[str, Field]]:
    for name, fields in FIELDS.items():
        if snake(name) in SCHEMA_REGISTRY:
            yield from ((name, field) for field in fields)


@pytest.mark.parametrize(("name", "field"), [*cases()])
def test_a_validator_of_others_takes_and_refuses_the_same(name: str, field: Field) -> None:
    checker = validator(snake(name))
    for value in field.good():
        lax = [(type(other), other) for other in LAX.get(field.type, ())]
        if (type(value), value) not in lax and not isinstance(value, datetime):
            assert checker.is_valid({**example(name), field.name: value}), value
    for value in field.bad():
        if not _beyond(field, value):
            assert not checker.is_valid({**example(name), field.name: value}), value


def _beyond(field: Field, value: Any) -> bool:
    """Python's `$` also matches before a last newline, that of JSON Schema does not."""
    if isinstance(value, str):
        return field.type in BEYOND or value.endswith("\n")
    percent = value.get("percent") if isinstance(value, dict) else None
    return isinstance(percent, float) and percent != percent


@pytest.mark.parametrize("name", SCHEMA_REGISTRY)
def test_unknown_and_missing_members_are_refused(name: str) -> None:
    title, checker = SCHEMA_REGISTRY[name].__name__, validator(name)
    envelope = examples.valid("asap")["task_request"]
    whole = envelope if title == "Envelope" else example(title)
    assert checker.is_valid(whole)
    assert not checker.is_valid({**whole, "more": 1})
    assert not checker.is_valid([])
    for member in get_schema_json(name)["required"]:
        assert not checker.is_valid({k: v for k, v in whole.items() if k != member}), member


def accepts(envelope: Any) -> bool:
    """The schema of the envelope, and that of its payload."""
    if not validator("envelope").is_valid(envelope):
        return False
    name = asap.normalize_payload_type(envelope["payload_type"])
    return name is None or validator(snake(name)).is_valid(envelope["payload"])


@pytest.mark.parametrize("name", examples.valid("asap"))
def test_example_envelopes_are_accepted(name: str) -> None:
    assert accepts(examples.valid("asap")[name])


TIED = {
    "bad_payload_own_parent",
    "bad_payload_result",
    "bad_urn_newline",
    "malformed_envelope_time",
}
"""Examples that tie members together, need a calendar, or a stricter `$` than Python's."""


@pytest.mark.parametrize("name", examples.invalid("asap"))
def test_example_envelopes_that_break_a_form_are_refused(name: str) -> None:
    case = examples.invalid("asap")[name]
    formal = case["rule"] in ("malformed_envelope", "bad_urn", "bad_payload")
    if formal and name not in TIED:
        assert not accepts(case["envelope"])


@pytest.mark.parametrize("name", examples.valid("asap/manifests"))
def test_example_manifests_are_accepted(name: str) -> None:
    assert validator("manifest").is_valid(examples.valid("asap/manifests")[name])


@pytest.mark.parametrize("name", examples.invalid("asap/manifests"))
def test_example_manifests_that_break_a_form_are_refused(name: str) -> None:
    case = examples.invalid("asap/manifests")[name]
    if name not in ("bad_manifest", "bad_manifest_integer"):
        assert not validator("manifest").is_valid(case["manifest"])


def test_every_payload_has_a_valid_example() -> None:
    payload_types = {value["payload_type"] for value in examples.valid("asap").values()}
    assert set(PAYLOADS) <= payload_types
