"""Secrets in policy files: found by their shape, named by kind and path, never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas import Problem
from streams.errors import InvalidInput
from streams.masking.examples import fill_template
from streams.masking.rules import ALL, Rule
from streams.masking.shapes import NO_SHAPE, secret_kind
from streams.policy import read
from streams.policy.read import MAX_DOTS, file_problems
from tests.unit.policy.files import HEAD, policy_file

TOKEN = fill_template("ghp_{36}")
SHAPES = [rule for rule in ALL if rule.name not in NO_SHAPE]


def problems_of(path: Path) -> list[Problem]:
    with pytest.raises(InvalidInput) as refusal:
        read(path)
    return list(refusal.value.problems)


@pytest.mark.parametrize("rule", SHAPES, ids=lambda rule: rule.name)
def test_what_the_rules_of_shape_mask_is_a_secret(rule: Rule) -> None:
    for example in rule.masked:
        text = fill_template(example.replace("«", "").replace("»", ""))
        kind = secret_kind(text) or ""
        assert kind.partition("_")[0] == rule.name.partition("_")[0], example


def test_the_rules_without_shape_are_there_and_find_nothing() -> None:
    assert {rule.name for rule in ALL} >= NO_SHAPE
    for text in ("password = hunter2hunter2", "Bearer abcdefg1", "Authorization: Digest a=b"):
        assert secret_kind(text) is None
    assert secret_kind(f"a line\ntoken = {TOKEN}") == "github_token", "a token all the same"


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        (f'description = "{TOKEN}"\n', "/description"),
        (f'[sap]\nconstitution_file = "{TOKEN}"\n', "/sap/constitution_file"),
        (f"[sap]\n{TOKEN} = 1\n", "/sap"),
        ('"https://u:hunter2@h/" = 1\n', ""),
        (f'[rtes.profile_by_prefix]\n"{TOKEN}" = "x"\n', "/rtes/profile_by_prefix"),
        (f'[[summit.critic]]\nagent = "a"\ncritic = "{TOKEN}"\n', "/summit/critic"),
        (f'[what]\never = [["{TOKEN}"]]\n', "/what"),
    ],
)
def test_a_secret_is_one_problem_without_its_text(tmp_path: Path, text: str, pointer: str) -> None:
    (problem,) = problems_of(policy_file(tmp_path, text))
    assert problem[:2] == ("secret_in_bundle", pointer)
    assert TOKEN not in problem.message
    assert "hunter2" not in problem.message


def test_a_secret_at_any_depth_is_found(tmp_path: Path) -> None:
    path = policy_file(tmp_path, f'{".".join(["a"] * MAX_DOTS)} = "{TOKEN}"\n')
    assert [problem.path for problem in problems_of(path)] == ["/a"]


def test_a_secret_in_a_file_that_a_member_names_is_a_problem_of_the_member(tmp_path: Path) -> None:
    rule = '[[allow]]\ncapability = "*"\nkinds = ["user"]\n'
    (tmp_path / "a.toml").write_text(f'version = "{TOKEN}"\n{rule}')
    policy = read(policy_file(tmp_path, '[sap]\nauthorization_file = "a.toml"\n', HEAD))
    (problem,) = file_problems(policy)
    assert problem[:2] == ("secret_in_bundle", "/sap/authorization_file")
    assert TOKEN not in problem.message


def test_keys_within_keys_without_end_are_a_secret(tmp_path: Path) -> None:
    path = policy_file(tmp_path, f'x = "{"password=" * 20_000}"\n')
    (problem,) = problems_of(path)
    assert (problem.rule, problem.path) == ("secret_in_bundle", "/x")
