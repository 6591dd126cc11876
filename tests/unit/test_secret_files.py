"""Secret settings whose values are in files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from streams.errors import SettingsError
from streams.settings import BY_ENV, BY_FIELD, PREFIX, SECRET_FILES, Settings
from streams.settings.secret_files import MAX_SECRET_BYTES, SUFFIX
from tests.processes import ROOT, environ_of
from tests.unit.cli.test_cli import run

SECRET = "0123456789abcdef-hunter2"
VALUES = {
    "SCHEMA_REGISTRY_URL": f"https://me:{SECRET}@registry.example",
    "HEADRACE_GATEWAY_KEY": SECRET * 2,  # it has a least length
    "HEADRACE_MAC_KEY": SECRET * 2,
}
by_file_variable = pytest.mark.parametrize("variable", SECRET_FILES)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "secret"


def test_every_secret_may_be_in_a_file_and_no_other_setting() -> None:
    secrets = [declared.env for declared in BY_FIELD.values() if declared.secret]
    assert {"HEADRACE_PRINCIPAL_KEY", "HEADRACE_MASK_KEY", "SCHEMA_REGISTRY_URL"} < set(secrets)
    assert {env + SUFFIX: env for env in secrets} == SECRET_FILES
    assert not set(SECRET_FILES) & set(BY_ENV)


def test_every_setting_that_is_named_like_a_secret_is_one() -> None:
    """Find secrets that are declared as something else: they would be shown."""
    parts = ("_TOKEN", "_PASSWORD", "_KEY")
    assert {env for env in BY_ENV if env.endswith(parts)} <= {
        *SECRET_FILES.values(),
        "HEADRACE_AUDIT_KEY",  # the paths of key files
        "HEADRACE_AUDIT_PUBLIC_KEY",
    }


@by_file_variable
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_the_content_without_one_newline_is_the_value(variable: str, end: str, path: Path) -> None:
    value = VALUES.get(SECRET_FILES[variable], SECRET)
    path.write_bytes(f"{value}{end}".encode())
    from_file = Settings.load({variable: str(path)})
    assert from_file == Settings.load({SECRET_FILES[variable]: value})
    assert from_file != Settings()
    assert SECRET not in repr(from_file)


@pytest.mark.parametrize("content", [f"{SECRET}\n", f" {SECRET}", f"{SECRET}\r", f"\n{SECRET}"])
def test_only_one_newline_at_the_end_is_left_out(content: str, path: Path) -> None:
    path.write_bytes(f"{content}\n".encode())
    without_cr = content.removesuffix("\r")
    assert Settings.load({"HEADRACE_MASK_KEY_FILE": str(path)}).mask_key == without_cr


@by_file_variable
def test_a_value_beside_its_file_is_refused_and_both_are_named(variable: str, path: Path) -> None:
    path.write_text(SECRET)
    value_variable = SECRET_FILES[variable]
    with pytest.raises(SettingsError) as caught:
        Settings.load({value_variable: VALUES.get(value_variable, SECRET), variable: str(path)})
    assert f"{value_variable} and {variable} are both set" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_an_empty_variable_counts_as_unset_beside_the_other(path: Path) -> None:
    path.write_text(SECRET)
    by_file = {"HEADRACE_MASK_KEY": "", "HEADRACE_MASK_KEY_FILE": str(path)}
    by_value = {"HEADRACE_MASK_KEY": SECRET, "HEADRACE_MASK_KEY_FILE": ""}
    assert Settings.load(by_file).mask_key == Settings.load(by_value).mask_key == SECRET


@by_file_variable
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"\r\n", "is empty"),
        (SECRET.encode() + b"\xff", "is not a text in UTF-8"),
        (SECRET.encode("utf-16-le"), "is not a text in UTF-8"),
        (SECRET.encode() * (MAX_SECRET_BYTES // len(SECRET) + 1), "is larger than 65536 bytes"),
    ],
)
def test_an_unusable_file_is_named_with_its_setting_but_not_shown(
    variable: str, content: bytes, reason: str, path: Path
) -> None:
    path.write_bytes(content)
    with pytest.raises(SettingsError) as caught:
        Settings.load({variable: str(path)})
    assert str(caught.value).startswith(f"{variable}: {path} {reason}")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


@by_file_variable
def test_a_file_that_cannot_be_opened_is_named_with_its_setting(
    variable: str, path: Path, tmp_path: Path
) -> None:
    for unreadable, reason in ((path, "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(SettingsError) as caught:
            Settings.load({variable: str(unreadable)})
        assert f"{variable}: {unreadable}: {reason}" in str(caught.value)


def test_an_endless_file_is_refused_before_it_fills_the_memory() -> None:
    with pytest.raises(SettingsError, match="/dev/zero is larger than 65536 bytes"):
        Settings.load({"HEADRACE_MASK_KEY_FILE": "/dev/zero"})


@pytest.mark.parametrize("variable", ["HEADRACE_PRINCIPAL_KEY_FILE", "SCHEMA_REGISTRY_URL_FILE"])
def test_a_value_from_a_file_is_checked_and_not_shown(variable: str, path: Path) -> None:
    path.write_text("hunter2")
    with pytest.raises(SettingsError, match=SECRET_FILES[variable]) as caught:
        Settings.load({variable: str(path)})
    assert "hunter2" not in str(caught.value)


def test_a_setting_that_is_no_secret_has_no_file(path: Path) -> None:
    path.write_text(SECRET)
    for variable in (d.env + SUFFIX for d in BY_FIELD.values() if not d.secret):
        with pytest.raises(SettingsError, match=f"{variable} is not a setting"):
            Settings.load({variable: str(path)})


def test_a_file_of_a_secret_is_assigned_with_or_without_the_prefix(path: Path) -> None:
    path.write_text(SECRET)
    for name in ("MASK_KEY_FILE", f"{PREFIX}MASK_KEY_FILE"):
        assert Settings().assign({name: str(path)}).mask_key == SECRET


def test_play_takes_a_secret_from_a_file_and_names_it_when_it_is_empty(path: Path) -> None:
    path.write_text("\n")
    result = run("play", "--set", f"MASK_KEY_FILE={path}", "-", stdin="")
    assert result.exit_code == 2
    assert f"HEADRACE_MASK_KEY_FILE: {path} is empty" in result.stderr


def test_a_command_without_its_secret_exits_with_2(path: Path) -> None:
    """Run a process, since a traceback would show the secret."""
    path.write_bytes(b"hunter2\xff")
    result = subprocess.run(
        [sys.executable, "-m", "streams.cli", "ready"],
        cwd=ROOT,
        env=environ_of({"HEADRACE_MASK_KEY_FILE": os.fspath(path)}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 2
    assert "HEADRACE_MASK_KEY_FILE" in result.stderr
    assert "hunter2" not in result.stdout + result.stderr
    assert "Traceback" not in result.stderr
