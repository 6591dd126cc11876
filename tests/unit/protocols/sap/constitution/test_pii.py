"""What counts as personal data, and where its patterns end."""

from __future__ import annotations

from typing import Any

import pytest

from streams.protocols.sap.constitution.checks import Subject
from streams.protocols.sap.constitution.evaluators import check_no_pii
from streams.protocols.sap.constitution.pii import kinds_in, luhn
from tests.unit.protocols.sap.constitution.support import final, statuses

FOUND = {
    "email": [
        "write to ana@example.com.",
        "<ana.maria+x%y@mail.example.co.uk>",
        "a" * 64 + "@b.eu",
        "x@a--b.museum",
        "ana@example.com-x",
        "éa.b@example.com",
        "ana＠example．com",
        "+ana@example.com",
    ],
    "phone": [
        "Ring Ana on +372 5550 1234",
        "+1 (555) 010-9999 now",
        "+12345678",
        "+123456789012345",
        "call 555-123-4567!",
        "(555) 123-4567",
        "555.123 4567",
        "+３７２ ５５５０ １２３４",
        "+٣٧٢٥٥٥٠١٢٣٤",
    ],
    "card": [
        "4111111111111111",
        "4111 1111 1111 1111",
        "5500-0000-0000-0004",
        "3782 822463 10005",
        "2222 4111 1111 1111 1111",
        "6011000990139424",
        "4222222222222",
        "number:4111111111111111.",
    ],
    "national id": [
        "123-45-6789",
        "899-99-9999",
        "AB123456C",
        "AB 12 34 56 C",
        "RSSMRA85T10A562S",
    ],
}
NOT_FOUND = [
    "",
    "plain text with 3 numbers: 1, 22, 333",
    "@example.com",
    "ana@example",
    "ana@example.c",
    "a" * 65 + "@b.eu",
    "ana@example.com1",
    "ana@example.com+",
    "éana@example.com",
    "+1234567",
    "+12345678901234567",
    "tel+37255501234",
    "++37255501234",
    "5555-123-4567",
    "555-123-45678",
    "a555-123-4567",
    "4111111111111112",
    "1111111111111117",
    "7111111111111111",
    "4111 1111-1111 1111",
    "4111  1111 1111 1111",
    "x4111111111111111",
    "4111111111111111é",
    "+4111111111111111",
    "41111111111111111111",
    "000-45-6789",
    "666-45-6789",
    "900-45-6789",
    "999-45-6789",
    "123-00-6789",
    "123-45-0000",
    "x123-45-6789",
    "123-45-67890",
    "DB123456C",
    "AO123456C",
    "AB123456E",
    "ab123456c",
    "RSSMRA85Z10A562S",
]


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in FOUND.items() for text in texts]
)
def test_found(kind: str, text: str) -> None:
    finding = check_no_pii(Subject("final", {"a": ["b", text]}), {})
    assert finding.status == "FAIL"
    assert f"{kind} at /a/1" in finding.notes
    assert text not in finding.notes


@pytest.mark.parametrize("text", NOT_FOUND)
def test_not_found(text: str) -> None:
    assert check_no_pii(Subject("final", {"a": text}), {}).status == "PASS"


@pytest.mark.parametrize(
    ("value", "status"),
    [
        (4111111111111111, "FAIL"),
        (-4111111111111111, "FAIL"),
        (4111111111111111.0, "FAIL"),
        (4111111111111112, "PASS"),
        (123456789, "PASS"),
        (4111111111111111e9, "PASS"),
        (0.5, "PASS"),
        (True, "PASS"),
        (None, "PASS"),
    ],
)
def test_numbers_are_tried_as_cards(value: Any, status: str) -> None:
    assert check_no_pii(Subject("final", {"n": value}), {}).status == status


def test_member_names_are_texts_and_are_not_told() -> None:
    finding = check_no_pii(
        Subject("final", {"of": {"ana@example.com": {"p": "+372 5550 1234"}}}), {}
    )
    assert finding.notes == "email at /of/…, phone at /of/…"


def test_each_place_is_named_up_to_a_number() -> None:
    finding = check_no_pii(Subject("final", [f"a{n}@example.com" for n in range(20)]), {})
    assert finding.notes.startswith("email at /0, email at /1,")
    assert finding.notes.endswith("email at /7, and more")


def test_luhn() -> None:
    assert luhn("79927398713")
    assert not any(luhn(f"7992739871{digit}") for digit in "012456789")


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text",
    [
        "." * 300_000 + "@",
        "a@" + "1." * 150_000,
        "a@" * 150_000,
        "+1 " * 100_000,
        "4" * 300_000,
        "4111 " * 60_000,
        "(" * 300_000,
        "AB" * 150_000 + "1",
    ],
)
def test_no_text_takes_long(text: str) -> None:
    kinds_in(text)


def test_pii_in_phases() -> None:
    text = "a@b.eu"
    assert statuses(final("No PII.", output=text)) == {"constraint:no_pii": "FAIL"}
    assert statuses(final("no pii", output=text, level="instant")) == {"constraint:no_pii": "FAIL"}
    assert statuses(final("No PII", payload=text, phase="task")) == {}
