"""The members of a policy: every setting that decides, each read from a file, and the schema."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from streams.docs import policy_files as committed
from streams.policy import default_policy, policy_of, read
from streams.policy.bundle import default_of
from streams.policy.members import MEMBERS, OUTSIDE, Form, Member, path_of
from streams.policy.schema import policy_schema
from streams.settings import BY_FIELD, Settings
from streams.settings.service import PREFIX
from tests.unit.policy.files import HEAD, policy_file

TABLES = {
    "masking.rule": (
        "[{ name = 'ticket', pattern = 'TCK-[0-9]+', triggers = ['TCK-'], masked = ['a TCK-1'],"
        " kept = ['TCK-'] }]",
        '[{"kept":["TCK-"],"masked":["a TCK-1"],"name":"ticket","pattern":"TCK-[0-9]+",'
        '"triggers":["TCK-"]}]',
    ),
    "apc.window": (
        "[{ from = 0, enabled = true, cross_use_case = true, multiplier = 1.50 }]",
        '[{"cross_use_case":true,"enabled":true,"from":0,"multiplier":1.5}]',
    ),
}
"""A list of tables for each member that is one: as the file has it, and as the setting has it."""
PLAIN = [member for member in MEMBERS.values() if member.form is not Form.FILE]
VALIDATOR = jsonschema_rs.Draft202012Validator(policy_schema())


def other_value(member: Member) -> tuple[str, Any]:
    """Return another value than the default: as the file has it, and as the setting has it."""
    declaration = member.declaration
    match member.form:
        case Form.WHOLE:
            default = declaration.default or 0
            number = default + (1 if default < declaration.high else -1)
            return str(number), number
        case Form.DECIMAL:
            number = f"{int(max(declaration.low, 0))}.125"
            return number, Decimal(number)
        case Form.FLAG:
            return str(not declaration.default).lower(), not declaration.default
        case Form.WORD:
            word = next(each for each in declaration.choices if each != declaration.default)
            return f'"{word}"', word
        case Form.WORDS:
            word = declaration.choices[0]
            return f'["{word}"]', word
        case Form.PREFIXES:
            return '{ "a=b" = "open" }', "a=b=open"
        case Form.PRINCIPALS:
            return '["ops:*", "a?"]', "a?,ops:*"
        case Form.TABLES:
            return TABLES[member.path]
    return '[{ agent = "a", critic = "b" }]', "a=b"


@pytest.mark.parametrize("member", PLAIN, ids=lambda member: member.path)
def test_each_member_of_a_file_reaches_the_processors(member: Member, tmp_path: Path) -> None:
    written, value = other_value(member)
    section, _, name = member.path.rpartition(".")
    path = policy_file(tmp_path, f"[{section}]\n{name} = {written}\n")
    settings = Settings.load({"HEADRACE_POLICY": str(path)})
    assert settings.as_work()[member.declaration.env.removeprefix(PREFIX)] == value
    assert settings == replace(Settings(), policy=path, **{member.field: value})
    assert policy_of(settings).values.keys() == {member.path}
    assert VALIDATOR.is_valid(tomllib.loads(path.read_text()))


def test_every_setting_of_a_processor_is_a_member_or_is_named_as_outside() -> None:
    work = {each.env.removeprefix(PREFIX) for each in BY_FIELD.values() if each.work}
    inside = {each.declaration.env.removeprefix(PREFIX) for each in MEMBERS.values()}
    assert inside | OUTSIDE == work
    assert not inside & OUTSIDE


def test_a_setting_of_no_section_is_refused() -> None:
    with pytest.raises(ValueError, match="no section"):
        path_of("HEADRACE_FOO_BAR")


def test_the_schema_itself_is_valid() -> None:
    assert jsonschema_rs.meta.is_valid(policy_schema())


def test_the_committed_files_are_those_of_the_declarations() -> None:
    assert committed.drift() == [], "run: python -m streams.docs"
    assert json.loads(committed.SCHEMA.read_text(encoding="utf-8")) == policy_schema()


def test_the_committed_defaults_name_every_member_and_decide_as_no_file_does() -> None:
    policy_read = read(committed.DEFAULT)
    assert policy_read.policy == default_policy()
    without = {m.path for m in MEMBERS.values() if default_of(m) is None}
    assert policy_read.fields.keys() == {m.field for m in MEMBERS.values() if m.path not in without}
    text = committed.DEFAULT.read_text(encoding="utf-8")
    names = re.findall(r"^# (\w+) =$", text, re.MULTILINE)
    assert sorted(names) == sorted(path.rpartition(".")[2] for path in without)
    settings = re.findall(r"^# .+; (HEADRACE_\w+)$", text, re.MULTILINE)
    assert sorted(settings) == sorted(m.declaration.env for m in MEMBERS.values())


def test_a_file_that_was_changed_or_is_missing_is_named_and_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {tmp_path / path.name / path.name: text for path, text in committed.FILES.items()}
    monkeypatch.setattr(committed, "FILES", files)
    assert committed.drift() == ["bundle.schema.json", "default.toml"]
    committed.write()
    assert committed.drift() == []
    for path in files:
        path.write_text("{}\n", encoding="utf-8")
        assert committed.drift() == [path.name]
        committed.write()


@pytest.mark.parametrize(
    "text",
    [
        "[apc.decay]\nmin_scor = 1\n",
        "[saop]\nhold_s = 0\n",
        '[sap]\nlearning = "aply"\n',
        "apc = 3\n",
        '[rtes.profile_by_prefix]\n"a" = "x"\n',
        '[[summit.critic]]\nagent = "a"\n',
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(tmp_path: Path, text: str) -> None:
    assert not VALIDATOR.is_valid(tomllib.loads(HEAD + text))
    with pytest.raises(Exception, match="at /"):
        read(policy_file(tmp_path, text))
