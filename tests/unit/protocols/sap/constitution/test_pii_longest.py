"""The patterns of the guide, tried at each place of a text with each length, one by one."""

from __future__ import annotations

import re
from collections.abc import Callable

from hypothesis import example, given, settings
from hypothesis import strategies as st

from streams.protocols.sap.constitution.pii import kinds_in
from tests.examples import example_count


def _card(text: str) -> bool:
    digits = [int(c) for c in text if c.isdigit()]
    total = sum(
        digit if n % 2 == 0 else digit * 2 - 9 * (digit > 4)
        for n, digit in enumerate(reversed(digits))
    )
    return total % 10 == 0


def _us(text: str) -> bool:
    area, group, serial = (int(part) for part in text.split("-"))
    return area not in (0, 666) and area < 900 and group > 0 and serial > 0


def _yes(text: str) -> bool:
    return True


SPEC: list[tuple[str, str, Callable[[str], bool]]] = [
    ("email", r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24}", _yes),
    ("phone", r"\+\d(?:[ .()-]{0,2}\d){7,14}", _yes),
    ("phone", r"\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}", _yes),
    ("card", r"[2-6]\d{12,18}", _card),
    ("card", r"[2-6]\d{3}(?: \d{4} \d{4} |-\d{4}-\d{4}-)\d{1,7}", _card),
    ("card", r"[2-6]\d{3}(?: \d{6} |-\d{6}-)\d{5}", _card),
    ("national id", r"\d{3}-\d{2}-\d{4}", _us),
    (
        "national id",
        r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]",
        _yes,
    ),
    ("national id", r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]", _yes),
]


def _touches(text: str, place: int) -> bool:
    return 0 <= place < len(text) and (text[place].isalnum() or text[place] == "+")


def _found(text: str) -> set[str]:
    kinds = set()
    for kind, pattern, is_one in SPEC:
        whole = re.compile(pattern)
        for start in range(len(text)):
            ends = range(len(text), start, -1)
            end = next((e for e in ends if whole.fullmatch(text, start, e)), None)
            if end is None or _touches(text, start - 1) or _touches(text, end):
                continue
            if is_one(text[start:end]):
                kinds.add(kind)
    return kinds


PIECES = st.sampled_from(
    [
        *"0123456789+@.-() aZ_é",
        "+372",
        "555",
        "1234",
        "4111",
        "1111",
        "822463",
        "10005",
        "3782",
        "123-45-6789",
        "AB12",
        "3456",
        "RSSMRA85T10A562S",
        "ana@b",
        ".eu",
        ".com",
    ]
)


@settings(max_examples=example_count(400), deadline=None)
@given(st.lists(PIECES, max_size=12).map("".join))
@example("4111 1111 1111 1111")
@example("2222 4111 1111 1111 1111")
@example("+372 5550 1234 5678 9012")
@example("a@b.c.de1.eu")
def test_the_longest_match_at_each_place(text: str) -> None:
    assert set(kinds_in(text)) == _found(text)
