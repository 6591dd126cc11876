"""Tool arguments, whole JSON values, dead letters."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streams.masking import Masker
from streams.masking.configured import masker_for
from streams.masking.examples import fill_template
from streams.settings import Settings

MASKER = Masker()
GITHUB = fill_template("ghp_{36}")
TOKEN, HUB = "[REDACTED:assignment]", "[REDACTED:github_token]"


@pytest.mark.parametrize(
    ("value", "masked", "count"),
    [
        ({}, {}, 0),
        ({"command": f"push {GITHUB}"}, {"command": f"push {HUB}"}, 1),
        ({"command": "login --password hunter2"}, {"command": f"login --password {TOKEN}"}, 1),
        ({"api_key": "two words"}, {"api_key": TOKEN}, 1),
        ({"pin": 1234, "password": 1234}, {"pin": 1234, "password": TOKEN}, 1),
        ({"secret": True, "token": 1.5}, {"secret": TOKEN, "token": TOKEN}, 2),
        ({"secret": None, "token": ""}, {"secret": None, "token": ""}, 0),
        ({"secret": "$NAME", "token": HUB}, {"secret": "$NAME", "token": HUB}, 1),
        ({"secret": f"{HUB} more"}, {"secret": TOKEN}, 1),
        ({"secret": {"a": [1, {"b": "x1"}]}}, {"secret": {"a": [TOKEN, {"b": TOKEN}]}}, 2),
        ({"max_tokens": 512, "pwd": "/srv"}, {"max_tokens": 512, "pwd": "/srv"}, 0),
        ({"pwd": "hunter2"}, {"pwd": TOKEN}, 1),
        ({"Authorization": "x y"}, {"Authorization": "[REDACTED:authorization]"}, 1),
        ({"auth": "dXNlcjpwYXNz"}, {"auth": "[REDACTED:basic]"}, 1),
        ({"auth": "none"}, {"auth": "none"}, 0),
        ({"auth": "é"}, {"auth": "é"}, 0),
        ({GITHUB: 1}, {HUB: 1}, 0),
        ({f"a{GITHUB}": 1, f"a{GITHUB}x": 2}, {f"a{HUB}": 1, f"a{HUB} (2)": 2}, 0),
        ({"seen": [HUB, "x", f"{HUB}{HUB}"]}, {"seen": [HUB, "x", f"{HUB}{HUB}"]}, 2),
    ],
)
def test_arguments(value: dict[str, Any], masked: dict[str, Any], count: int) -> None:
    assert MASKER.arguments(value) == (masked, count)
    assert MASKER.arguments(masked) == (masked, count)
    assert MASKER.everything(value) == masked


def test_arguments_are_copied_and_keep_their_order() -> None:
    value = {"z": ["x"], "password": "hunter2", "a": {"c": 1, "b": 2}}
    before = json.dumps(value)
    masked, _ = MASKER.arguments(value)
    assert json.dumps(value) == before
    assert json.dumps(masked) == before.replace("hunter2", TOKEN)


def test_arguments_can_be_left_alone_while_all_else_is_masked() -> None:
    masker = Masker(arguments=False)
    value = {"password": "hunter2", "seen": HUB}
    assert masker.arguments(value) == (value, 1)
    assert masker.everything(value) == {"password": TOKEN, "seen": HUB}


@pytest.mark.parametrize("value", [None, True, 3, 1.5, "text", [], [[]], "ü\ud800"])
def test_values_without_secrets_stay(value: Any) -> None:
    assert MASKER.everything(value) == value


def test_values_may_be_of_any_depth() -> None:
    value: Any = "password=hunter2"
    for _ in range(50_000):
        value = [{"a": value}]
    masked = MASKER.everything(value)
    while isinstance(masked, list):
        masked = masked[0]["a"]
    assert masked == f"password={TOKEN}"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", b""),
        (b"plain \xc3\xbc\n", b"plain \xc3\xbc\n"),
        (b"\xff\xfe password=hunter2 \x80", rb"\xff\xfe password=[REDACTED:assignment] \x80"),
        (b"a\n-----BEGIN PRIVATE KEY-----\nQUJD\nQUI=", b"a\n[REDACTED:pem_open]\n"),
        (
            b"\x00\x34" + fill_template("glpat-{20}").encode() + b"\x02",
            b"\x00\x34[REDACTED:gitlab_token]\x02",
        ),
        (b"\x00x" + fill_template("AKIA{A16}").encode(), b"\x00x[REDACTED:aws_key]"),
    ],
)
def test_dead_letters(data: bytes, text: bytes) -> None:
    masked = MASKER.dead_letter(data)
    assert masked.startswith(text)
    assert b"QU" not in masked
    assert masked.decode() == MASKER.text(masked.decode())


def test_a_masker_as_the_settings_say() -> None:
    settings = Settings(mask_key="k", rtes_mask_arguments=False, rtes_pem_lines=1, rtes_pem_s=1)
    masker = masker_for(settings)
    assert masker.text("password=hunter2") == Masker(b"k").text("password=hunter2")
    assert masker.arguments({"password": "x1"}) == ({"password": "x1"}, 0)
    assert masker.pulse("-----BEGIN PRIVATE KEY-----", None, 0)[1] is None
    assert masker_for(Settings()).text("password=hunter2") == f"password={TOKEN}"
