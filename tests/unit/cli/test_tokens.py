"""`headrace tokens`."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path

import pytest

from streams.access import TokenFile
from streams.access.tokens import load, parse_line
from streams.cli import tokens
from tests.unit.cli.test_cli import run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "tokens.jsonl"


def test_a_token_and_its_line_are_printed() -> None:
    out = run("tokens", "new", "planner-1", "--role", "producer", "--role", "reader")
    assert out.exit_code == 0, out.output
    token, line = out.stdout.splitlines()
    entry = parse_line(line)
    assert (entry.principal, sorted(entry.roles)) == ("planner-1", ["producer", "reader"])
    assert token.startswith(f"hr_{entry.id}_")


def test_the_line_is_added_to_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TOKENS", str(path))
    for name in ("a", "b"):
        out = run("tokens", "new", name, "--role", "reader", "--add")
        assert out.exit_code == 0, out.output
        (token,) = out.stdout.splitlines()
        caller = TokenFile(path).caller(token)
        assert caller is not None
        assert caller.principal == name
    assert len(load(path)) == 2


def test_it_begins_a_line_of_its_own(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("# no end")
    run("tokens", "new", "a", "--role", "reader", "--add", "--file", str(path))
    assert [entry.principal for entry in load(path).values()] == ["a"]


def test_if_missing_makes_one_once(path: Path) -> None:
    options = ("tokens", "new", "operator", "--role", "operator", "--add", "--if-missing")
    first = run(*options, "--file", str(path))
    assert first.stdout.startswith("hr_")
    before = path.read_text()
    second = run(*options, "--file", str(path))
    assert (second.exit_code, second.stdout, path.read_text()) == (0, "", before)
    run(
        "tokens",
        "new",
        "old",
        "--role",
        "reader",
        "--add",
        "--expires",
        "2020-01-01",
        "--file",
        str(path),
    )
    third = run("tokens", "new", "old", "--role", "reader", "--if-missing", "--file", str(path))
    assert third.stdout.startswith("hr_")


def test_they_are_listed_without_secrets(path: Path) -> None:
    run("tokens", "new", "kim", "--role", "operator", "--add", "--file", str(path))
    run(
        *("tokens", "new", "ed", "--role", "reader", "--add", "--file", str(path)),
        *("--expires", "2020-01-01T00:00:00Z"),
    )
    kim, ed = json.loads(run("tokens", "list", "--file", str(path), "--json").stdout)
    assert (kim["principal"], kim["roles"], kim["expired"]) == ("kim", ["operator"], False)
    assert (ed["expires"], ed["expired"]) == ("2020-01-01T00:00:00+00:00", True)
    table = run("tokens", "list", "--file", str(path)).stdout
    assert table.splitlines()[0].split() == ["ID", "PRINCIPAL", "ROLES", "EXPIRES"]
    assert "(expired)" in table
    assert "sha256" not in table


def test_one_is_revoked(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("# ours\n\n")
    path.chmod(0o640)
    for name in ("a", "b"):
        run("tokens", "new", name, "--role", "reader", "--add", "--file", str(path))
    a, b = load(path).values()
    out = run("tokens", "revoke", a.id, "--file", str(path))
    assert out.exit_code == 0, out.output
    assert list(load(path)) == [b.id]
    assert path.read_text().startswith("# ours\n\n")
    assert path.stat().st_mode & 0o777 == 0o640
    again = run("tokens", "revoke", a.id, "--file", str(path))
    assert again.exit_code == 1
    assert "headrace tokens list" in again.output


def test_a_link_stays_one_and_the_file_its_owners(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.parent.mkdir()
    link = path.with_name("current")
    link.symlink_to(path)
    run("tokens", "new", "a", "--role", "reader", "--add", "--file", str(link))
    owners: list[tuple[int, int]] = []
    monkeypatch.setattr("os.chown", lambda _, user, group: owners.append((user, group)))
    (a,) = load(link)
    assert run("tokens", "revoke", a, "--file", str(link)).exit_code == 0
    assert (link.is_symlink(), load(path)) == (True, {})
    assert owners == [(path.stat().st_uid, path.stat().st_gid)]


@pytest.mark.parametrize("command", [("new", "b", "--role", "reader", "--add"), ("revoke",)])
def test_a_file_that_cannot_be_changed_is_told_and_no_token_shown(
    command: tuple[str, ...], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("tokens", "new", "a", "--role", "reader", "--add", "--file", str(path))
    before = path.read_bytes()

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    for call in ("open", "chown"):
        monkeypatch.setattr(f"os.{call}", refused)
    (a,) = load(path)
    out = run("tokens", *command, *([a] if len(command) == 1 else []), "--file", str(path))
    assert (out.exit_code, path.read_bytes()) == (2, before)
    assert f"{path} cannot be changed: Operation not permitted" in out.output
    assert "hr_" not in out.output


def test_nobody_else_changes_the_file_meanwhile(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two revocations at once, the later would bring back what the earlier took out."""
    run("tokens", "new", "a", "--role", "reader", "--add", "--file", str(path))
    replace = tokens._replace
    calls: list[bool] = []

    def looked(file: Path, text: str) -> None:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            calls.append(True)
        finally:
            os.close(folder)
        replace(file, text)

    monkeypatch.setattr(tokens, "_replace", looked)
    assert run("tokens", "revoke", *load(path), "--file", str(path)).exit_code == 0
    assert (calls, load(path)) == ([True], {})


@pytest.mark.parametrize(
    "options",
    [
        ("new", "a"),
        ("new", "a", "--role", "admin"),
        ("new", "service", "--role", "reader"),
        ("new", "operator", "--role", "reader"),
        ("new", "a", "--role", "reader", "--expires", "soon"),
        ("new", "a", "--role", "reader", "--add"),
        ("list",),
        ("list", "--file", "/nowhere/at/all"),
        ("revoke", "a"),
    ],
)
def test_what_makes_no_sense_is_usage(
    options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEADRACE_TOKENS", raising=False)
    assert run("tokens", *options).exit_code == 2
