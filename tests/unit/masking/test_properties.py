"""What holds of any text.

Promised of a text that comes in pieces: each line is masked whatever lines come with it in one
pulse, and the body of a private key is known over pulses.  Not promised, and not caught: a secret
that is itself cut in two, its key on another line, or a line of several words inside a key block.
"""

from __future__ import annotations

import json
import random
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from streams.masking import Block, Masker, count_tokens
from streams.masking.examples import examples_of
from streams.masking.rules import ALL
from streams.masking.tokens import TOKEN
from tests.examples import example_count
from tests.unit.masking.made_up import KINDS, key_block, secrets
from tests.unit.masking.test_corpus import FORMS, left_of

MASKERS = (Masker(), Masker(b"key"))
PIECES = [
    *(case.text for rule in ALL for case in examples_of(rule)),
    *(case.masked for rule in ALL for case in examples_of(rule)),
    *(trigger for rule in ALL for trigger in (*rule.triggers, *rule.words)),
    *("password", "x_token", "pass", "pwd", "auth", "Cookie", "f(", "str", "None", "unexpected "),
    *("=", ":", "=>", ":=", "==", ": ", " = ", "--", "?", "&", "@", "://", "https://", "/", "#"),
    *(
        '"',
        "'",
        "`",
        '\\"',
        "\\\\\\'",
        "\\",
        "\\n",
        "%20",
        " ",
        "  ",
        "\t",
        ";",
        ",",
        "{",
        "}",
        "]",
    ),
    *("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "QUJD" * 9, "QUJD", "ab"),
    *("\x1b[31m", "\x1b[0m", "\x1b", "[REDACTED:pem_open]", "[REDACTED:pem_close]", "[REDACTED:"),
    *("[REDACTED:jwt:0123abcd]", "\x00", "\ud800", "🔑", "İ", "A1b2" * 8, "zQ9x" * 7, "hunter2"),
]
BREAKS = ("\n", "\r\n", "\r")
SYNTAX = st.text(alphabet="apsword token=:\"'\\-[]{}@/.;,&?#$<>%\x1b1A~", max_size=60)
LINES = st.lists(st.sampled_from(PIECES) | SYNTAX | st.text(max_size=12), max_size=8).map("".join)
TEXTS = st.lists(LINES | st.sampled_from(BREAKS), max_size=5).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | LINES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LINES, inner, max_size=3),
    max_leaves=6,
)
MANY = settings(max_examples=example_count(200), deadline=None)
OPEN = st.none() | st.builds(Block, st.just(0), st.integers(1, 399), st.integers(-1, 30))


@MANY
@given(TEXTS, st.sampled_from(MASKERS))
def test_masking_is_idempotent(text: str, masker: Masker) -> None:
    masked = masker.text(text)
    assert masker.text(masked) == masked


@MANY
@given(TEXTS)
def test_what_is_not_replaced_stays_in_order(text: str) -> None:
    position = 0
    for piece in TOKEN.split(MASKERS[0].text(text)):
        position = text.index(piece, position) + len(piece)


@MANY
@given(TEXTS, OPEN, st.sampled_from(MASKERS))
def test_a_masked_pulse_gives_the_same_tokens_and_the_same_block(
    text: str, block: Block | None, masker: Masker
) -> None:
    masked, after = masker.pulse(text, block, 1)
    assert masker.pulse(masked, block, 1) == (masked, after)


@MANY
@given(TEXTS, OPEN)
def test_a_pulse_masked_without_its_block_leaves_the_same_block(
    text: str, block: Block | None
) -> None:
    masker = MASKERS[0]
    assert masker.pulse(masker.text(text), block, 1)[1] == masker.pulse(text, block, 1)[1]


@MANY
@given(TEXTS)
def test_without_a_block_a_pulse_is_a_text(text: str) -> None:
    assert MASKERS[0].pulse(text, None, 1)[0] == MASKERS[0].text(text)


def strings(value: Any) -> list[str]:
    """Every string and member name in a JSON value."""
    if isinstance(value, dict):
        return [*value, *(text for inner in value.values() for text in strings(inner))]
    if isinstance(value, list):
        return [text for inner in value for text in strings(inner)]
    return [value] if isinstance(value, str) else []


@MANY
@given(JSON)
def test_no_string_is_left_that_a_text_would_not_be(value: Any) -> None:
    masked = MASKERS[0].everything(value)
    assert [MASKERS[0].text(text) for text in strings(masked)] == strings(masked)
    assert MASKERS[0].everything(masked) == masked


@MANY
@given(st.dictionaries(LINES, JSON, max_size=4))
def test_arguments_count_the_values_that_hold_a_token(value: dict[str, Any]) -> None:
    masked, count = MASKERS[0].arguments(value)
    names = [text for text in strings(masked) if count_tokens(text)]
    assert count <= len(names)
    assert MASKERS[0].arguments(masked) == (masked, count)


@MANY
@given(st.binary(max_size=80) | TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_dead_letters_are_masked_text_whatever_the_bytes(data: bytes) -> None:
    text = MASKERS[0].dead_letter(data).decode()
    assert MASKERS[0].text(text) == text


@MANY
@given(st.text(min_size=1, max_size=30), st.integers(0, 4))
def test_any_secret_in_json_however_often_escaped(secret: str, times: int) -> None:
    secret = f"x1{secret}9z"
    text = json.dumps({"a": 1, "api_key": secret, "b": 2})
    for _ in range(times):
        text = json.dumps([text])
    expected = text
    for _ in range(times):
        expected = json.loads(expected)[0]
    assert json.loads(expected)["api_key"] == secret
    masked = MASKERS[0].text(text)
    for _ in range(times):
        (masked,) = json.loads(masked)
    assert json.loads(masked) == {"a": 1, "api_key": "[REDACTED:assignment]", "b": 2}


@st.composite
def sessions(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """The lines of a session, and the secrets in them."""
    lines, hidden = [], []
    for _ in range(draw(st.integers(1, 6))):
        match draw(st.sampled_from(("plain", "secret", "key"))):
            case "plain":
                lines.append(draw(st.sampled_from(("ok: 3 passed", "", "make: done", "user=me"))))
            case "secret":
                kind = draw(st.sampled_from(KINDS))
                secret = draw(st.sampled_from(list(secrets(kind))))
                form = draw(st.sampled_from(sorted(FORMS)))
                lines.append(FORMS[form](kind.key or "value", secret))
                hidden.append(secret)
            case _:
                block = key_block(random.Random(draw(st.integers(0, 9))))
                prefix = draw(st.sampled_from(("", "12:00:01 app: ", "+")))
                lines += (f"{prefix}{line}" for line in block)
                hidden += block[1:-1]
    return lines, hidden


@MANY
@given(sessions(), st.data(), st.sampled_from(BREAKS))
def test_no_split_into_pulses_leaks_what_the_whole_text_hides(
    session: tuple[list[str], list[str]], data: st.DataObject, line_break: str
) -> None:
    lines, hidden = session
    cuts = data.draw(st.sets(st.integers(1, len(lines)))) | {0, len(lines)}
    block, masked_texts = None, []
    for start, end in pairwise(sorted(cuts)):
        masked, block = MASKERS[0].pulse(line_break.join(lines[start:end]), block, 1)
        masked_texts.append(masked)
    whole = MASKERS[0].text(line_break.join(lines))
    assert not [left for secret in hidden for left in left_of(secret, whole)]
    assert not [
        left for secret in hidden for text in masked_texts for left in left_of(secret, text)
    ]
    assert block is None
