"""Lines that are made to cost much, and lines too long to be looked at in one piece.

A pattern that reads text again and again would need hours for these; the limit is generous, so that
only such a pattern meets it.
"""

from __future__ import annotations

import random

import pytest

from streams.masking import Masker, count_tokens, has_token
from streams.masking.examples import fill_template
from streams.masking.find import OVERLAP, WINDOW
from streams.masking.rules import ALL
from tests.unit.masking.made_up import key_block

MASKER = Masker()
LENGTH = WINDOW + OVERLAP
BEGINNINGS = [trigger for rule in ALL for trigger in (*rule.triggers, *rule.words)]
UNITS = [
    *BEGINNINGS,
    *(rule.masked[0] for rule in ALL),
    *(
        "a",
        "a=",
        "=a",
        "a:",
        "--a ",
        "a.",
        "a-",
        "A1a=",
        "\\",
        '\\"',
        '"',
        "'\\",
        "k=\\\\",
        " ",
        "a \t",
    ),
    *(
        "-",
        "/",
        "://",
        "a://a:b/",
        "a://a@",
        "a://a:b@",
        "@",
        "[REDACTED:",
        "[REDACTED:jwt]",
        "\x1b[",
    ),
    *(
        "token=<a",
        "token=${",
        "token={{",
        "token:Optional[",
        "token: str = ",
        "token::",
        "token:a[",
    ),
    *(
        "token='",
        'token=\\"',
        "token: '[REDACTED:jwt]",
        "'Cookie: a",
        "pwd=/",
        "PASS:",
        'token=f("',
    ),
    *("\r", "\n", "password\n", "\x1b[31m", "\x1b[3", "🔑", "İpassword=", "bearer bearer12bearer "),
    *("k=Aa0Bb1Cc2Dd3Ee4Ff5Gg6Hh7 ", "=Aa0Bb1Cc2Dd3Ee4Ff5Gg6Hh7/", "eyJaaaaaaaaaaa.", "AKIA" * 5),
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", UNITS)
def test_a_line_of_one_piece_again_and_again_is_masked_in_reasonable_time(unit: str) -> None:
    line = (fill_template(unit) * (LENGTH // len(unit) + 1))[:LENGTH]
    masked, _ = MASKER.pulse(line, None, 0)
    assert masked == line or has_token(masked)


@pytest.mark.timeout(120)
def test_a_line_of_many_megabytes() -> None:
    rnd = random.Random(5)
    word = "".join(rnd.choices("abcdefgh ,.", k=5_000))
    secret = "".join(rnd.choices("abcdefgh1234567", k=40))
    line = f"{word} token='{secret}' " * 600
    masked = MASKER.text(line)
    assert len(line) > 3_000_000
    assert count_tokens(masked) == 600
    assert secret not in masked
    assert masked.count(word) == 600


@pytest.mark.parametrize("offset", range(-60, 20, 13))
@pytest.mark.parametrize("edge", [WINDOW - OVERLAP, WINDOW])
def test_a_secret_at_the_edge_of_a_window(edge: int, offset: int) -> None:
    line = fill_template(f"{'a b ' * (WINDOW // 2)}")[: edge + offset - 1]
    for text in ("db_password='{36}'", "glpat-{20}", "https://me:{36}@example.com/", "AKIA{A16}"):
        whole = f"{line} {fill_template(text)} {line}"
        assert MASKER.text(whole) == f"{line} {MASKER.text(fill_template(text))} {line}"


@pytest.mark.parametrize("before", ["x token=", "x token='", "ghp_", "k: Bearer "])
def test_a_secret_longer_than_a_window_goes_to_the_end_of_its_word(before: str) -> None:
    secret = fill_template(f"{{{2 * WINDOW}}}")
    masked = MASKER.text(f"{before}{secret}' x")
    assert secret[-20:] not in masked
    assert len(masked) < 100


def test_a_private_key_of_a_very_long_line() -> None:
    block = "\\n".join(key_block(random.Random(3)) * 200)
    assert len(block) > 2 * WINDOW
    masked = MASKER.text(f"a {block} b")
    assert masked == "a " + "\\n".join(["[REDACTED:pem_private_key]"] * 200) + " b"
