"""Policies as TOML: what is written is read again as the same policy."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.policy import policy_of, read
from streams.policy.bundle import default_of
from streams.policy.toml_text import policy_toml
from streams.settings import Settings
from tests.unit.policy.files import policy_file
from tests.unit.policy.test_members import PLAIN, other_value

OTHERS = {member.field: other_value(member)[1] for member in PLAIN}
CONSTITUTION = Path(__file__).parents[3] / "topology" / "sap" / "constitution.toml"


@pytest.mark.parametrize("shows_all", [False, True])
@pytest.mark.parametrize("fields", [{}, OTHERS], ids=["defaults", "every member"])
def test_what_is_written_is_read_as_the_same_policy(
    tmp_path: Path, fields: dict[str, object], shows_all: bool
) -> None:
    settings = Settings.without_environment(fields)
    policy = policy_of(settings)
    policy_read = read(policy_file(tmp_path, policy_toml(settings, policy, shows_all), head=""))
    assert (policy_read.name, policy_read.version) == ("bootstrap", policy.id)
    assert policy_read.policy == policy
    with_default = [member.field for member in PLAIN if default_of(member) is not None]
    expected = {*with_default, *fields} if shows_all else fields
    assert set(policy_read.fields) == set(expected)


def test_files_are_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "c.toml").write_text(CONSTITUTION.read_text() + "# another\n")
    monkeypatch.chdir(tmp_path)
    settings = replace(Settings(), sap_constitution=Path("c.toml"))
    (tmp_path / "else").mkdir()
    policy = policy_of(settings)
    policy_read = read(policy_file(tmp_path / "else", policy_toml(settings, policy), head=""))
    assert policy_read.fields == {"sap_constitution": tmp_path / "c.toml"}
    assert policy_read.policy == policy


def test_texts_and_numbers_of_any_kind(tmp_path: Path) -> None:
    profiles = 'a"\\=open,b.c\x7f\x1b\x9b\u2028\U000e0001=devs,é😀=open'
    rate, burst = Decimal("0.000001"), Decimal("1E+2")
    settings = replace(Settings(), rtes_profiles=profiles, sap_rate=rate, sap_burst=burst)
    policy = policy_of(settings)
    policy_read = read(policy_file(tmp_path, policy_toml(settings, policy), head=""))
    assert policy_read.policy == policy


def test_the_command_prints_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_SAOP_REPEATS", "4")
    result = CliRunner().invoke(main, ["policy", "show", "--toml"], catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stdout.endswith("\n\n[saop]\nrepeats = 4\n")
    policy = read(policy_file(tmp_path, result.stdout, head=""))
    assert policy.fields == {"saop_repeats": 4}


def test_the_command_prints_one_form_only() -> None:
    result = CliRunner().invoke(main, ["policy", "show", "--toml", "--json"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--toml and --json exclude each other" in result.stderr
