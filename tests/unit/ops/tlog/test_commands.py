"""`headrace audit key --origin` and `audit check`: files, output and exit codes."""

from __future__ import annotations

import json
import stat
from base64 import b64encode
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.ops.tlog.key_files import load_private_key
from streams.ops.tlog.keys import parse_verifier_key, verifier_key
from streams.ops.tlog.policy import load_policy
from tests.unit.ops.tlog.example_log import FIRST, HEADERS, ORIGIN, POLICY, receipt

SUFFIXES = ("", ".pub", ".vkey", ".policy")


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEADRACE_TLOG_POLICY", raising=False)


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["audit", *arguments], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def files() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path().iterdir()}


@pytest.mark.parametrize("option", [(), ("--ml-dsa",)])
def test_a_key_with_an_origin_has_four_files(option: tuple[str, ...]) -> None:
    output = run("key", "k.pem", "--origin", ORIGIN, *option).stdout
    assert set(files()) == {f"k.pem{suffix}" for suffix in SUFFIXES}
    assert stat.S_IMODE(Path("k.pem").stat().st_mode) == 0o600
    key = parse_verifier_key(Path("k.pem.vkey").read_text().strip())
    assert key == verifier_key(ORIGIN, load_private_key(Path("k.pem")))
    assert f"key_id        {key.id}" in output
    policy = load_policy(Path("k.pem.policy"))
    assert (policy.keys_of(ORIGIN), policy.quorum) == ((key,), "none")


def test_a_key_without_origin_gets_the_files_that_are_missing() -> None:
    run("key", "k.pem")
    before = files()
    run("key", "k.pem", "--origin", ORIGIN)
    whole = files()
    assert whole.items() >= before.items()
    for suffix in SUFFIXES[1:]:
        Path(f"k.pem{suffix}").unlink()
        run("key", "k.pem", "--origin", ORIGIN)
        assert files() == whole


def test_a_policy_that_was_extended_is_kept() -> None:
    run("key", "k.pem", "--origin", ORIGIN)
    text = "# ours\n" + Path("k.pem.policy").read_text()
    Path("k.pem.policy").write_text(text)
    run("key", "k.pem", "--origin", ORIGIN)
    assert Path("k.pem.policy").read_text() == text


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("k.pem.pub", "other", "belongs to another key or origin"),
        ("k.pem.vkey", "other", "belongs to another key or origin"),
        ("k.pem.policy", POLICY, "does not list the key"),
        ("k.pem", "other", "holds no private key in PEM"),
    ],
)
def test_a_file_of_another_key_stops_it(name: str, content: str, message: str) -> None:
    run("key", "k.pem", "--origin", ORIGIN)
    Path(name).write_text(content)
    before = files()
    assert message in run("key", "k.pem", "--origin", ORIGIN, code=2).stderr
    assert files() == before


def test_files_of_a_key_that_is_lost_stop_it() -> None:
    run("key", "k.pem", "--origin", ORIGIN)
    Path("k.pem").unlink()
    assert "to which it belongs, is not" in run("key", "k.pem", "--origin", ORIGIN, code=2).stderr
    assert not Path("k.pem").exists()


def test_a_key_of_one_kind_is_not_taken_for_the_other() -> None:
    run("key", "k.pem", "--origin", ORIGIN)
    error = run("key", "k.pem", "--origin", ORIGIN, "--ml-dsa", code=2).stderr
    assert "is not ML-DSA-44" in error
    assert "needs --origin" in run("key", "m.pem", "--ml-dsa", code=2).stderr


@pytest.mark.parametrize(
    "origin",
    ["", "a b", "a+b", "a\tb", "a\u00a0b", "a" * 256, "\u00e9" * 128, "https://a/b", "a/", "a\x7f"],
)
def test_a_text_that_is_no_origin(origin: str) -> None:
    error = run("key", "k.pem", "--origin", origin, code=2).stderr
    assert "no origin" in error or "has a scheme or a trailing slash" in error
    assert files() == {}


def record_line(offset: int = 0) -> str:
    """Return the record of the first entry, as exports have it."""
    members = {
        "topic": "apc.events",
        "partition": 0,
        "offset": offset,
        "timestamp": FIRST.timestamp,
        "key": b64encode(b"sess-1").decode(),
        "value": b64encode(b"\0\1\2").decode(),
        "headers": [[name, b64encode(text).decode()] for name, text in HEADERS],
    }
    return json.dumps({"record": members})


@pytest.fixture
def example() -> None:
    Path("p").write_text(POLICY)
    Path("r").write_bytes(receipt())


@pytest.mark.usefixtures("example")
def test_a_receipt_that_holds_says_what_was_logged() -> None:
    Path("record").write_text(record_line())
    lines = run("check", "r", "--policy", "p", "--record", "record").stdout.splitlines()
    assert lines == [
        "holds      apc.events/0/0 was in the log",
        f"log        {ORIGIN}, index 0 of 3, 2 hashes",
        "recorded   2024-11-24T08:00:00.123Z",
        f"sha256     {FIRST.sha256}",
        "cosigned   by nobody; quorum none",
        "record     is the one that was logged",
    ]


@pytest.mark.usefixtures("example")
def test_a_receipt_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TLOG_POLICY", "p")
    assert json.loads(run("check", "r", "--json").stdout) == {
        "holds": True,
        "code": None,
        "detail": "apc.events/0/0 was in the log",
        "origin": ORIGIN,
        "index": 0,
        "size": 3,
        "entry": FIRST.encode().decode(),
        "position": "apc.events/0/0",
        "timestamp": FIRST.timestamp,
        "sha256": FIRST.sha256,
        "hashes": 2,
        "cosigned": [],
        "quorum": "none",
        "record": "not_given",
    }


@pytest.mark.usefixtures("example")
def test_a_receipt_that_does_not_hold_is_a_negative_answer() -> None:
    Path("record").write_text(record_line(offset=1))
    output = run("check", "r", "--policy", "p", "--record", "record", code=1).stdout
    assert output.startswith("fails      record_differs: the record is not the one")
    Path("r").write_text("nothing\n")
    output = run("check", "r", "--policy", "p", code=1).stdout
    assert output == "fails      receipt_malformed: there is no checkpoint after an empty line\n"
    body = json.loads(run("check", "r", "--policy", "p", "--json", code=1).stdout)
    assert (body["code"], body["origin"], body["holds"]) == ("receipt_malformed", None, False)


@pytest.mark.usefixtures("example")
def test_what_is_missing_is_asked_for() -> None:
    assert "HEADRACE_TLOG_POLICY" in run("check", "r", code=2).stderr
    assert "cannot be read" in run("check", "none", "--policy", "p", code=2).stderr
    assert "cannot be read" in run("check", "r", "--policy", "none", code=2).stderr
    Path("p").write_text("log\n")
    assert "line 1" in run("check", "r", "--policy", "p", code=2).stderr
    Path("record").write_text("{}")
    assert "no record" in run("check", "r", "--policy", "p", "--record", "record", code=1).stderr
