"""Private keys over several pulses: what opens a block, what its body is, what closes it."""

from __future__ import annotations

import pytest

from streams.masking import Block, Masker

MASKER = Masker(pem_lines=5, pem_s=10)
BEGIN, END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
OPEN, CLOSE, WHOLE = (f"[REDACTED:pem_{name}]" for name in ("open", "close", "private_key"))
OPENED = Block(0, 1, 0)


def masked(*lines: str, masker: Masker = MASKER) -> list[str]:
    block, texts = None, []
    for line in lines:
        text, block = masker.pulse(line, block, 0)
        texts.append(text)
    return texts


@pytest.mark.parametrize(
    ("line", "masked_line", "after"),
    [
        (BEGIN, OPEN, Block(7, 1, 0)),
        (f"ab {BEGIN} QUJD", f"ab {OPEN}", Block(7, 1, 3)),
        ("ab [REDACTED:pem_open]", "ab [REDACTED:pem_open]", Block(7, 1, 3)),
        ("[REDACTED:pem_open:0123abcd]", "[REDACTED:pem_open:0123abcd]", Block(7, 1, 0)),
        (f"password=ab {BEGIN}", f"password=[REDACTED:assignment] {OPEN}", Block(7, 1, -1)),
        (f"QUJD {END} x", f"{CLOSE} x", None),
        (f"a {BEGIN} QUJD {END} x", f"a {WHOLE} x", None),
        (f"a {BEGIN}\\nQUJD\\n{END} x", f"a {WHOLE} x", None),
        (f"QUJD{END} {BEGIN}", f"{CLOSE} {OPEN}", Block(7, 1, -1)),
        (f"{BEGIN} {END} {BEGIN}", f"{WHOLE} {OPEN}", Block(7, 1, -1)),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----", OPEN, Block(7, 1, 0)),
        ("-----BEGIN PUBLIC KEY-----", "-----BEGIN PUBLIC KEY-----", None),
        ("QUJD", "QUJD", None),
        (f"\x1b[32m{BEGIN}\x1b[0m", f"\x1b[32m{OPEN}\x1b[0m", Block(7, 1, 0)),
    ],
)
def test_a_pulse_while_no_block_is_open(line: str, masked_line: str, after: Block | None) -> None:
    assert MASKER.pulse(line, None, 7) == (masked_line, after)
    assert MASKER.pulse(masked_line, None, 7) == (masked_line, after)
    assert MASKER.text(line) == masked_line


@pytest.mark.parametrize(
    ("line", "masked_line"),
    [
        ("QUJD", WHOLE),
        ("  QUJD==  ", WHOLE),
        ("hello", WHOLE),
        ("Proc-Type: 4,ENCRYPTED", WHOLE),
        ("DEK-Info: AES-128-CBC,00", WHOLE),
        ("Version: 1", WHOLE),
        ("Comment: x y", WHOLE),
        (f"x {'QUJD' * 8} y", WHOLE),
        ("\x1b[31mQUJD\x1b[0m", f"\x1b[31m{WHOLE}\x1b[0m"),
        (f"x {'QUJD' * 7} y", f"x {'QUJD' * 7} y"),
        ("two words", "two words"),
        ("password=ab c", "password=[REDACTED:assignment] c"),
        ("", ""),
        ("   ", "   "),
        (WHOLE, WHOLE),
    ],
)
def test_a_line_while_a_block_is_open(line: str, masked_line: str) -> None:
    assert MASKER.pulse(line, OPENED, 7) == (masked_line, Block(0, 2, 0))
    assert MASKER.pulse(masked_line, OPENED, 7) == (masked_line, Block(0, 2, 0))


def test_a_prefix_as_long_as_that_of_begin_is_not_part_of_the_body() -> None:
    prefix = "12:00:01 app | "
    lines = [
        f"{prefix}{text}" for text in (BEGIN, "QUJD", "QU==", "DEK-Info: x", "ab cd", END, "ab")
    ]
    assert masked(*lines, masker=Masker()) == [
        f"{prefix}{OPEN}",
        *[WHOLE] * 3,
        f"{prefix}ab cd",
        CLOSE,
        f"{prefix}ab",
    ]


def test_behind_a_prefix_with_a_secret_the_last_word_decides() -> None:
    first, *others = masked(f"token=ab {BEGIN}", "token=cd QUJD", "what is: this!", "t QU==")
    assert first == f"token=[REDACTED:assignment] {OPEN}"
    assert others == [WHOLE, "what is: this!", WHOLE]


def test_a_block_ends_with_its_last_pulse() -> None:
    assert masked(BEGIN, *["QUJD"] * 6) == [OPEN, *[WHOLE] * 4, "QUJD", "QUJD"]
    assert MASKER.pulse("QUJD", Block(0, 4, 0), 0) == (WHOLE, None)


@pytest.mark.parametrize(("now_ms", "masked_line"), [(10_000, WHOLE), (10_001, "QUJD")])
def test_a_block_ends_with_its_time(now_ms: int, masked_line: str) -> None:
    assert MASKER.pulse("QUJD", OPENED, now_ms)[0] == masked_line


def test_a_second_begin_starts_to_count_again() -> None:
    assert MASKER.pulse(BEGIN, Block(0, 3, 4), 9_000) == (OPEN, Block(9_000, 1, 0))


def test_a_text_of_several_lines() -> None:
    text = f"a\n{BEGIN}\nQUJD\n{END}\nb\n{BEGIN}\nQUJD\r\ntwo words\rQUJD"
    assert MASKER.text(text) == f"a\n{WHOLE}\nb\n{OPEN}\n{WHOLE}\r\ntwo words\r{WHOLE}"
    assert MASKER.pulse(text, None, 3) == (MASKER.text(text), Block(3, 1, 0))
    assert MASKER.pulse(f"QUJD\n{END}\nQUJD", OPENED, 3) == (f"{WHOLE}\n{CLOSE}\nQUJD", None)


def test_a_block_swallowed_by_an_assignment_leaves_no_block_open() -> None:
    line = f'"private_key": "x {BEGIN}\\nQUJD\\n{END}\\n", "b": 1'
    assert MASKER.pulse(line, None, 0) == ('"private_key": "[REDACTED:assignment]", "b": 1', None)


def test_a_block_that_begins_in_an_assignment_stays_known() -> None:
    masked_line, block = MASKER.pulse(f'PRIVATE_KEY="{BEGIN}', None, 0)
    assert masked_line == f'PRIVATE_KEY="{OPEN}'
    assert block == Block(0, 1, 13)
    masked_line, block = MASKER.pulse(f"password: ab {BEGIN}", None, 0)
    assert masked_line == f"password: [REDACTED:assignment] {OPEN}"
    assert block == Block(0, 1, -1)
