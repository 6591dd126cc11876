"""Members that are lists: windows of generations, and the principals who may change a policy."""

from __future__ import annotations

import tomllib
from pathlib import Path

import jsonschema_rs
import pytest

from streams.errors import InvalidInput, SettingsError
from streams.policy import policy_of, read
from streams.policy.schema import policy_schema
from streams.policy.toml_text import policy_toml
from streams.settings import Settings
from tests.unit.policy.files import policy_file

VALIDATOR = jsonschema_rs.Draft202012Validator(policy_schema())
PLAIN = "cross_use_case = true, enabled = true"


def problems(folder: Path, text: str) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as caught:
        read(policy_file(folder, text))
    return [(problem.rule, problem.path) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("windows", "problem", "in_schema"),
    [
        ("[]", ("window_order", "/apc/window"), False),
        (f"[{{ from = 1, {PLAIN} }}]", ("window_order", "/apc/window/0/from"), False),
        (
            f"[{{ from = 0, {PLAIN} }}, {{ from = 0, {PLAIN} }}]",
            ("window_order", "/apc/window/1/from"),
            False,
        ),
        ("1", ("member_type", "/apc/window"), True),
        ("[1]", ("member_type", "/apc/window"), True),
        (
            "[{ from = 0, enabled = true }]",
            ("member_missing", "/apc/window/0/cross_use_case"),
            True,
        ),
        (f"[{{ from = 0, {PLAIN}, to = 3 }}]", ("member_unknown", "/apc/window/0/to"), True),
        (f"[{{ from = -1, {PLAIN} }}]", ("number_range", "/apc/window/0/from"), True),
        (f"[{{ from = 0.5, {PLAIN} }}]", ("member_type", "/apc/window/0/from"), True),
        (f"[{{ from = 0, {PLAIN}, multiplier = 0.9 }}]",
         ("number_range", "/apc/window/0/multiplier"), True),
        (f"[{{ from = 0, {PLAIN}, multiplier = 1.0000000000000001 }}]",
         ("number_precision", "/apc/window/0/multiplier"), False),
        (f"[{{ from = 0, {PLAIN}, multiplier = nan }}]",
         ("number_range", "/apc/window/0/multiplier"), False),
        (f"[{{ from = 0, {PLAIN}, top_k_limit = 11 }}]",
         ("number_range", "/apc/window/0/top_k_limit"), True),
        (f"[{{ from = 0, {PLAIN}, selector = 'WINNERS' }}]",
         ("value_unknown", "/apc/window/0/selector"), True),
        ("[{ from = 0, cross_use_case = true, enabled = 1 }]",
         ("member_type", "/apc/window/0/enabled"), True),
    ],
)  # fmt: skip
def test_what_is_wrong_with_windows_is_named_by_path(
    windows: str, problem: tuple[str, str], in_schema: bool, tmp_path: Path
) -> None:
    """Check the reader and the schema, which knows no order and no precision (in_schema)."""
    assert problems(tmp_path, f"[apc]\nwindow = {windows}\n") == [problem]
    if "nan" not in windows:
        document = tomllib.loads(
            f'format = 1\nname = "a"\nversion = "1"\n[apc]\nwindow = {windows}\n'
        )
        assert VALIDATOR.is_valid(document) is not in_schema


def test_windows_written_as_tables_or_as_a_variable_are_one_policy(tmp_path: Path) -> None:
    tables = "[[apc.window]]\nfrom = 0\nenabled = true\nmultiplier = 2\ncross_use_case = false\n"
    policy = read(policy_file(tmp_path, tables)).policy
    text = '[ {"multiplier": 2.0, "enabled": true, "from": 0, "cross_use_case": false} ]'
    settings = Settings.load({"HEADRACE_APC_WINDOW": text})
    assert policy_of(settings) == policy
    assert policy.canonical == (
        '{"apc":{"window":[{"cross_use_case":false,"enabled":true,"from":0,"multiplier":2}]},'
        '"format":1}'
    )
    path = tmp_path / "again.toml"
    path.write_text(policy_toml(settings, policy))
    assert read(path).policy == policy


@pytest.mark.parametrize("text", ["{", "[1]", '[{"from":3}]', "null", "[" * 5000])
def test_a_variable_that_is_no_list_of_windows_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="HEADRACE_APC_WINDOW"):
        Settings.load({"HEADRACE_APC_WINDOW": text})


@pytest.mark.parametrize("member", ["publishers", "activators"])
def test_principals_are_a_list_that_names_somebody(member: str, tmp_path: Path) -> None:
    cases = {
        "[]": ("governance_locked", ""),
        '"*"': ("member_type", ""),
        "[1]": ("member_type", "/0"),
        '["a,b"]': ("text_invalid", "/0"),
        '["a", ""]': ("text_invalid", "/1"),
        '["a", "a"]': ("not_unique", "/1"),
    }
    for value, (rule, pointer) in cases.items():
        text = f"[governance]\n{member} = {value}\n"
        assert problems(tmp_path, text) == [(rule, f"/governance/{member}{pointer}")]
    policy = read(policy_file(tmp_path, f'[governance]\n{member} = ["b", "a*"]\n')).policy
    assert policy.canonical == f'{{"format":1,"governance":{{"{member}":["a*","b"]}}}}'
