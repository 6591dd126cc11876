"""Whether a value holds personal data (evaluator `no_pii`).

Source: SAP spec, 3.4.
"""

from __future__ import annotations

from collections.abc import Iterator

from streams.protocols.sap.constitution.model import Evaluator, Finding, Params, Subject
from streams.protocols.sap.constitution.pii import is_card_number, kinds_in
from streams.protocols.sap.constitution.telling import place_of
from streams.protocols.sap.constitution.texts import leaves
from streams.protocols.sap.constitution.words import FAIL, PASS

MOST_PLACES = 8
"""That a finding names."""


def _places(subject: Subject) -> Iterator[str]:
    for place, found, _ in leaves(subject.value):
        if isinstance(found, str):
            kinds = kinds_in(found)
        else:
            kinds = ["card"] if is_card_number(found) else []
        for kind in kinds:
            yield f"{kind} at {place_of(place, subject.denylist)}"


def check(subject: Subject, params: Params) -> Finding:
    places = list(dict.fromkeys(_first(_places(subject))))
    if not places:
        return Finding(PASS, "none found")
    return Finding(FAIL, ", ".join(places))


def _first(places: Iterator[str]) -> Iterator[str]:
    for count, place in enumerate(places):
        if count == MOST_PLACES:
            yield "and more"
            return
        yield place


EVALUATOR = Evaluator(check)
