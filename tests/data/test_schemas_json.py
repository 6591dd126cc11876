"""The exported JSON Schemas say what `validate` says, as far as JSON Schema can."""

from __future__ import annotations

import copy
import json
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from schemas import validate
from tests.unit.schemas import examples

SCHEMAS = {
    "apc": "apc/packet",
    "rtes": "rtes/event",
    "saop": "saop/turn",
    "saop/rewinds": "saop/rewind",
    "saop/controls": "saop/control",
    "sap/tasks": "sap/task",
    "sap/results": "sap/result",
    "sap/signals": "sap/signal",
    "summit/manifests": "summit/manifest",
    "summit/calls": "summit/call",
    "summit/replies": "summit/reply",
}
OPEN = {
    "apc": ("metadata", "details", "ast_json", "initial_state"),
    "rtes": ("arguments",),
    "saop": (),
    "saop/rewinds": ("task_id", "git_hash"),  # which of the two is there the phase says
    "saop/controls": (),
    "sap/tasks": ("payload", "schema", "routingHints", "meta", "pressure"),
    "sap/results": ("output", "details", "metrics", "meta", "nextActions", "artifacts", "error"),
    "sap/signals": ("rating", "decision", "note"),  # which of them is there the kind says
    "summit/manifests": ("owner", "arguments", "inputSchema", "outputSchema"),
    "summit/calls": ("inputs", "arguments", "tenant"),
    "summit/replies": ("output", "data", "host"),
}
"""Members that are left alone: what is in them is the sender's, or tied to another member."""

# Rules that tie members together, measure the whole, or need a calendar.
BEYOND = {
    "json_invalid",
    "packet_too_large",
    "intra_agent_recipients",
    "formula_empty",
    "ode_equations",
    "ode_initial_state",
    "ode_time",
    "metadata_value",
    "format_time",
    "text_invalid",
    "bad_json",
    "self_parent",
    "deadline_before_issue",
    "error_message_missing",
    "alignment_status_mismatch",
    "json.invalid",
    "manifest.schema_dialect",
    "manifest.schema_ref",
    "manifest.schema_pattern",
    "manifest.schema_default",
}

TIED = {
    ("saop", "timestamp_invalid"),
    ("saop/rewinds", "schema_invalid_neither"),
    ("saop/rewinds", "schema_invalid_both"),
    ("saop/rewinds", "schema_invalid_confirm"),
    ("sap/tasks", "bad_timestamp"),
    ("sap/tasks", "bad_timestamp_year"),
    ("sap/tasks", "bad_agent_id"),
    ("sap/tasks", "bad_agent_id_control"),
    ("sap/signals", "bad_signal_missing"),
    ("sap/signals", "bad_signal_other_kind"),
    ("summit/manifests", "manifest.schema-invalid"),
    ("summit/manifests", "manifest.tool-differ"),
    ("summit/manifests", "manifest.tool-twice"),
    ("summit/calls", "context.parent-itself"),
    ("summit/calls", "params.agent_id-newline"),  # $ of this library stands before it too
    ("summit/manifests", "manifest.judge"),
    ("summit/replies", "provenance.value-time"),
    ("summit/replies", "verification.value-twice"),
}
"""Examples that need a calendar, or tie members together, of rules that JSON Schema has in part."""


def validator(protocol: str) -> Draft202012Validator:
    text = files("schemas").joinpath(f"json/{SCHEMAS[protocol]}.json").read_text("utf-8")
    schema = json.loads(text)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.mark.parametrize("protocol", SCHEMAS)
def test_valid_examples_are_accepted(protocol: str) -> None:
    checker = validator(protocol)
    for name, value in examples.valid(protocol).items():
        assert checker.is_valid(value), name


@pytest.mark.parametrize("protocol", SCHEMAS)
def test_invalid_examples_are_refused(protocol: str) -> None:
    checker = validator(protocol)
    for name, case in examples.invalid(protocol).items():
        if case["rule"] not in BEYOND and (protocol, name) not in TIED:
            assert not checker.is_valid(case[examples.CASES[protocol]]), name


@pytest.mark.parametrize("protocol", SCHEMAS)
def test_members_taken_out_or_null_are_judged_alike(protocol: str) -> None:
    checker = validator(protocol)
    for name, value in examples.valid(protocol).items():
        for place in _members(value, OPEN[protocol]):
            for junk in (..., None):
                changed = _changed(value, place, junk)
                ours = not validate(examples.KINDS[protocol], changed)
                assert checker.is_valid(changed) is ours, (name, place, junk)


def _members(
    value: Any, opened: tuple[str, ...], place: tuple[Any, ...] = ()
) -> list[tuple[Any, ...]]:
    if isinstance(value, list):
        return [deeper for i, v in enumerate(value) for deeper in _members(v, opened, (*place, i))]
    if not isinstance(value, dict):
        return []
    paths = []
    for name, member in value.items():
        if name not in opened:
            paths += [(*place, name), *_members(member, opened, (*place, name))]
    return paths


def _changed(value: Any, place: tuple[Any, ...], junk: Any) -> Any:
    changed = copy.deepcopy(value)
    owner = changed
    for step in place[:-1]:
        owner = owner[step]
    if junk is ...:
        del owner[place[-1]]
    else:
        owner[place[-1]] = junk
    return changed
