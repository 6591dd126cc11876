"""The file of tokens: what its lines may be, and that a change of it counts."""

from __future__ import annotations

import errno
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from streams.access import Caller, Role, TokenFile
from streams.access.tokens import digest_of, load, new_token, parse_line
from streams.errors import SettingsError

READER = frozenset({Role.READER})
LINE = {"id": "a1", "principal": "kim", "roles": ["reader"], "sha256": "0" * 64}


def written(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens.jsonl"


def test_a_token_is_known_by_its_line(path: Path) -> None:
    token, entry = new_token("urn:asap:agent:eu", READER)
    tokens = TokenFile(written(path, "# who may", "", entry.line()))
    assert tokens.caller(token) == Caller("urn:asap:agent:eu", READER, entry.id)


def test_the_file_does_not_hold_the_token(path: Path) -> None:
    token, entry = new_token("kim", READER)
    assert token.split("_", 2)[2] not in entry.line()
    assert entry.digest == digest_of(token)


@pytest.mark.parametrize("change", ["", "x", "last", "case", "id"])
def test_what_is_no_token(path: Path, change: str) -> None:
    token, entry = new_token("kim", READER)
    start, id, secret = token.split("_", 2)
    wrong = {
        "": "",
        "x": "x",
        "last": token[:-1],
        "case": f"{start}_{id}_{secret.swapcase()}",
        "id": f"{start}_zzzzzzzz_{secret}",
    }[change]
    assert TokenFile(written(path, entry.line())).caller(wrong) is None


def test_two_tokens_of_a_principal_differ() -> None:
    assert new_token("kim", READER)[0] != new_token("kim", READER)[0]


def test_a_token_ends(path: Path) -> None:
    now = datetime.now(UTC)
    past, ended = new_token("kim", READER, now - timedelta(seconds=1))
    later, lasting = new_token("kim", READER, now + timedelta(days=1))
    tokens = TokenFile(written(path, ended.line(), lasting.line()))
    assert tokens.caller(past) is None
    assert tokens.caller(later) == Caller("kim", READER, lasting.id)


def test_a_change_of_the_file_counts(path: Path) -> None:
    (first, one), (second, two) = new_token("kim", READER), new_token("lee", READER)
    tokens = TokenFile(written(path, one.line()))
    kim = tokens.caller(first)
    assert kim is not None
    assert tokens.holds(kim)
    written(path, two.line(), "# kim has left")
    assert (tokens.caller(first), tokens.holds(kim)) == (None, False)
    lee = tokens.caller(second)
    assert lee is not None
    assert lee.principal == "lee"


def test_other_roles_count_too(path: Path) -> None:
    token, entry = new_token("kim", READER)
    tokens = TokenFile(written(path, entry.line()))
    kim = tokens.caller(token)
    assert kim is not None
    written(path, entry._replace(roles=frozenset({Role.PRODUCER})).line())
    assert not tokens.holds(kim)


@pytest.mark.parametrize("slip", ["{", None])
def test_a_file_that_cannot_be_read_any_more_locks_nobody_out(
    path: Path, slip: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    token, entry = new_token("kim", READER)
    tokens = TokenFile(written(path, entry.line()))
    if slip is None:
        path.unlink()
    else:
        written(path, slip)
    assert tokens.caller(token) is not None
    assert "the tokens are as they were" in caplog.text


def test_a_file_that_is_set_right_counts(path: Path) -> None:
    """`chmod` alone changes neither its bytes nor the time of its last change."""
    token, entry = new_token("kim", READER)
    tokens = TokenFile(written(path, entry.line()))
    written(path, "# nobody").chmod(0o666)
    assert tokens.caller(token) is not None
    path.chmod(0o644)
    assert tokens.caller(token) is None


def test_a_file_that_could_not_be_opened_is_tried_again(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As while the process has too many files open."""
    token, entry = new_token("kim", READER)
    tokens = TokenFile(written(path, entry.line()))
    written(path, "# nobody")

    def full(*_: object) -> str:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_text", full)
        assert [tokens.caller(token) is not None for _ in range(3)] == [True] * 3
    assert caplog.text.count("the tokens are as they were") == 1
    assert tokens.caller(token) is None


@pytest.mark.parametrize("text", ["\ufeff{}\n", "\ufeff# ours\r\n{}\r\n"])
def test_a_file_of_another_editor(path: Path, text: str) -> None:
    path.write_bytes(text.replace("{}", json.dumps(LINE)).encode())
    assert list(load(path)) == ["a1"]


@pytest.mark.parametrize(
    "changes",
    [
        {"id": ""},
        {"id": "A_1"},
        {"id": None},
        {"principal": ""},
        {"principal": "a\nb"},
        {"principal": "x" * 201},
        {"principal": 7},
        {"principal": " kim"},
        {"principal": "service "},
        {"principal": "service"},
        {"principal": "unauthenticated"},
        {"principal": "operator"},
        {"roles": []},
        {"roles": "reader"},
        {"roles": ["admin"]},
        {"roles": [["reader"]]},
        {"sha256": "0" * 63},
        {"sha256": "A" * 64},
        {"expires": "soon"},
        {"expires": 7},
        {"more": 1},
    ],
)
def test_what_no_line_may_be(changes: dict[str, Any]) -> None:
    assert parse_line(json.dumps(LINE)).principal == "kim"
    with pytest.raises(SettingsError):
        parse_line(json.dumps({**LINE, **changes}))


@pytest.mark.parametrize("line", ["", "[]", "kim", '"kim"', "1", "[" * 100_000])
def test_a_line_is_an_object(line: str) -> None:
    with pytest.raises(SettingsError):
        parse_line(line)


def test_a_wrong_line_is_named(path: Path) -> None:
    written(path, json.dumps(LINE), "{}")
    with pytest.raises(SettingsError, match=rf"HEADRACE_TOKENS: {path}, line 2: .*tokens new"):
        load(path)


def test_an_id_stands_once(path: Path) -> None:
    written(path, json.dumps(LINE), json.dumps(LINE))
    with pytest.raises(SettingsError, match="a1 stands there twice"):
        load(path)


def test_a_file_that_everybody_can_write_is_refused(path: Path) -> None:
    written(path, json.dumps(LINE)).chmod(0o666)
    with pytest.raises(SettingsError, match="chmod o-w"):
        load(path)


def test_a_file_that_is_not_there_is_told(path: Path) -> None:
    with pytest.raises(SettingsError, match="HEADRACE_TOKENS"):
        TokenFile(path)
