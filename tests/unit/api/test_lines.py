"""Parts of lines: ids, lists of names, durations, texts of several lines."""

from __future__ import annotations

import pytest

from streams.api.lines import Line, Sign, count_of, duration, names, one_line, short, verdict_line


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        ("7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730", "7f0c2f5d"),
        ("01M7YRRRS4RFVVVX9QRHKJ8E9C", "01M7YRRR"),
        ("0" * 64, "00000000"),
        ("prompt-cascade", "prompt-cascade"),
        ("deadbeef", "deadbeef"),
        ("n" * 60, "n" * 48 + "…"),
        (None, "-"),
    ],
)
def test_ids_that_machines_made_are_shortened(id: str | None, expected: str) -> None:
    assert short(id) == expected


def test_names() -> None:
    assert names([]) == ""
    assert names(["a", "b"]) == "a, b"
    assert names(list("abcde")) == "a, b, c and 2 more"


def test_a_text_of_several_lines_becomes_one_line() -> None:
    assert one_line("first\n\n  second\r\n\tthird ") == "first second third "
    assert one_line("\x1b[31m") == "\x1b[31m", "other control characters are escaped when printed"
    assert one_line(None) == ""


@pytest.mark.parametrize(
    ("ms", "expected"),
    [(12.5, "12.5 ms"), (2400, "2.4 s"), (90_000, "90.0 s"), (600_000, "10 min")],
)
def test_durations(ms: float, expected: str) -> None:
    assert duration(ms) == expected


def test_counts() -> None:
    assert (count_of(1, "record"), count_of(4966, "record")) == ("1 record", "4,966 records")


def test_a_rule_that_repeats_the_verdict_is_left_out() -> None:
    accepted = verdict_line("w", "", "accepted", "accepted", "Delivered.")
    assert accepted == Line(who="w", sign=Sign.ACCEPTED, text="accepted", reason="Delivered.")
    refused = verdict_line("w", "", "rejected", "phase_type", None)
    assert refused == Line(who="w", sign=Sign.REFUSED, text="refused", rule="phase_type")
    assert verdict_line("w", "", "fired", "expired", "").sign is None
