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

SCHEMAS = {"apc": "apc/packet", "rtes": "rtes/event"}

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
}


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
        if case["rule"] not in BEYOND:
            assert not checker.is_valid(case.get("packet", case.get("event"))), name


@pytest.mark.parametrize("protocol", SCHEMAS)
def test_members_taken_out_or_null_are_judged_alike(protocol: str) -> None:
    checker = validator(protocol)
    for name, value in examples.valid(protocol).items():
        for place in _members(value):
            for junk in (..., None):
                changed = _changed(value, place, junk)
                ours = not validate(examples.KINDS[protocol], changed)
                assert checker.is_valid(changed) is ours, (name, place, junk)


def _members(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, list):
        return [deeper for i, v in enumerate(value) for deeper in _members(v, (*place, i))]
    if not isinstance(value, dict):
        return []
    found = []
    for name, member in value.items():
        if name not in ("metadata", "details", "ast_json", "arguments", "initial_state"):
            found += [(*place, name), *_members(member, (*place, name))]
    return found


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
