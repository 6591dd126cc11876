"""Whether a value holds a term that must not be there (evaluator `denylist`).

Source: SAP spec, 3.4.
"""

from __future__ import annotations

from streams.protocols.sap.constitution.denied import holds
from streams.protocols.sap.constitution.model import Evaluator, Finding, Params, Subject
from streams.protocols.sap.constitution.params import text, texts
from streams.protocols.sap.constitution.telling import place_of
from streams.protocols.sap.constitution.texts import folded
from streams.protocols.sap.constitution.texts import texts as texts_of
from streams.protocols.sap.constitution.words import FAIL, PASS, UNCHECKED


def terms_of(subject: Subject, params: Params) -> list[str]:
    """The folded terms: those of the constraint, else those of the constitution."""
    if "term" in params:
        return [folded(params["term"])]
    return [folded(term) for term in params.get("terms", subject.denylist)]


def check(subject: Subject, params: Params) -> Finding:
    terms = terms_of(subject, params)
    if not terms:
        return Finding(UNCHECKED, "the list of terms is empty")
    for place, value in texts_of(subject.value):
        if holds(value, terms):
            told = place_of(place, subject.denylist, lambda name: holds(name, terms))
            return Finding(FAIL, f"denylisted term at {told}")
    return Finding(PASS, "none found")


EVALUATOR = Evaluator(check, {"term": text, "terms": texts})
