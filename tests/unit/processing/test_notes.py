"""Tests of notes on the values of one request."""

from __future__ import annotations

from schemas import Problem
from streams.processing import ingress
from streams.processing.ingress import EnvelopeType, notes_on, prepare_unchanged
from streams.settings import Settings


def test_a_request_has_a_bounded_number_of_notes() -> None:
    read: list[int] = []

    def two_notes(value: int, _: object) -> list[Problem]:
        read.append(value)
        return [Problem("member_dropped", f"/{value}/{n}", "It was left out.") for n in range(2)]

    kind = EnvelopeType("any", prepare_unchanged, lambda *_: [], 10, notes=two_notes)
    notes = notes_on(kind, list(range(10 * ingress.MAX_NOTES)), Settings())
    assert len(notes) == ingress.MAX_NOTES
    assert notes[2] == (1, Problem("member_dropped", "/1/0", "It was left out."))
    assert len(read) == ingress.MAX_NOTES // 2
