"""`headrace mask`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streams.cli import main

BLOCK = b"a\n-----BEGIN RSA PRIVATE KEY-----\nQUJD\n-----END RSA PRIVATE KEY-----\nQUJD\n"
MASKED = b"a\n[REDACTED:pem_open]\n[REDACTED:pem_private_key]\n[REDACTED:pem_close]\nQUJD\n"


def run(*args: str, stdin: bytes = b"", key: str = "") -> Result:
    return CliRunner().invoke(main, ["mask", *args], input=stdin, env={"HEADRACE_MASK_KEY": key})


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (b"", b""),
        (b"plain\n", b"plain\n"),
        (b"no end: token=ab", b"no end: token=[REDACTED:assignment]"),
        (b"token: a b\r\n\r\nx", b"token: [REDACTED:assignment]\r\n\r\nx"),
        (b"\xff\xfe token=ab \x80\n", b"\xff\xfe token=[REDACTED:assignment] \x80\n"),
        (b"10%\r20% token=ab\rdone\n", b"10%\r20% token=[REDACTED:assignment]\rdone\n"),
        (BLOCK, MASKED),
    ],
)
def test_lines_are_masked_and_all_else_stays(tmp_path: Path, text: bytes, masked: bytes) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(text)
    for result in (run(stdin=text), run("-", stdin=text), run(str(path))):
        assert result.exit_code == 0
        assert result.stdout_bytes == masked


def test_in_json_each_line_says_whether_it_was_changed() -> None:
    result = run("--json", stdin=b"plain\r\n\xff token=ab\n" + BLOCK[2:])
    assert result.exit_code == 0
    assert [json.loads(line) for line in result.output.splitlines()] == [
        {"line": "plain", "masked": False},
        {"line": "\\xff token=[REDACTED:assignment]", "masked": True},
        {"line": "[REDACTED:pem_open]", "masked": True},
        {"line": "[REDACTED:pem_private_key]", "masked": True},
        {"line": "[REDACTED:pem_close]", "masked": True},
        {"line": "QUJD", "masked": False},
    ]


def test_the_key_of_the_settings_is_used() -> None:
    one, two = (run(stdin=b"token=ab", key=key).output for key in ("k", "l"))
    assert one != two
    assert one.startswith("token=[REDACTED:assignment:")


@pytest.mark.parametrize("args", [["no-such-file"], ["--no-such-option"], ["-", "-"]])
def test_wrong_usage_exits_with_2(args: list[str]) -> None:
    assert run(*args).exit_code == 2


@pytest.mark.timeout(60)
def test_a_line_comes_out_while_the_input_stays_open() -> None:
    command = [sys.executable, "-m", "streams.cli", "mask"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        for _ in range(2):
            process.stdin.write(b"token=ab\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"token=[REDACTED:assignment]\n"
        process.stdin.close()
        assert process.wait() == 0


@pytest.mark.timeout(60)
def test_a_reader_that_goes_away_is_no_error_to_speak_of() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "streams.cli", "mask"]
    try:
        ended = subprocess.run(
            command, input=b"token=ab\n" * 9, stdout=write, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(write)
    assert b"Traceback" not in ended.stderr
    assert ended.returncode == 1
