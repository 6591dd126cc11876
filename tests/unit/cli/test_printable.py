"""Tests that texts from outside cannot control the terminal."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from click.testing import CliRunner

from streams.cli import common, main

HOSTILE = "a\x1b]0;owned\x07\x9b31m\x7f\u202eb\u2066\r\ud800"


def controls(text: str) -> list[str]:
    """Return the control, format and surrogate characters of a text."""
    return [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c != "\n"]


def test_every_control_character_is_escaped() -> None:
    everything = "".join(map(chr, range(0x10000)))
    left = {c for c in common.printable(everything) if unicodedata.category(c) in ("Cc", "Cs")}
    assert left == set()
    assert common.printable("\x1b\x9b\u202e") == r"\x1b\x9b\u202e"
    assert common.printable("a\nb\tc\x1b", common.LINES) == "a\nb\tc\\x1b"
    assert common.printable("zażółć 日本") == "zażółć 日本"


@pytest.mark.parametrize("value", [HOSTILE, {"member": HOSTILE}, [HOSTILE]])
def test_tables_and_members(value: Any, capsys: pytest.CaptureFixture[str]) -> None:
    common.show_table(("title",), [(value,)])
    common.show_members({HOSTILE: value})
    assert controls(capsys.readouterr().out) == []


def test_json_has_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    common.show_json({"member": HOSTILE})
    text = capsys.readouterr().out
    assert controls(text + common.json_line({"member": HOSTILE})) == []
    assert json.loads(text) == {"member": HOSTILE}


def test_messages_of_errors() -> None:
    result = CliRunner().invoke(main, ["tail", HOSTILE])
    assert result.exit_code == 2
    assert r"a\x1b]0;owned\x07" in result.stderr
    assert controls(result.stderr) == []
