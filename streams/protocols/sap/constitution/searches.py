"""Whether a pattern is in a text of a value (evaluators `forbid_pattern`, `require_pattern`).

Source: SAP spec, 3.3.
"""

from __future__ import annotations

from schemas.json_schema.patterns import compiled
from streams.protocols.sap.constitution.model import Evaluator, Finding, Params, Subject
from streams.protocols.sap.constitution.params import text
from streams.protocols.sap.constitution.telling import place_of
from streams.protocols.sap.constitution.texts import texts
from streams.protocols.sap.constitution.words import FAIL, PASS


def pattern(value: object) -> str:
    """Reads the parameter; the file's is compiled when it is read."""
    given = text(value)
    compiled(given)
    return given


def forbid(subject: Subject, params: Params) -> Finding:
    searched = compiled(params["pattern"])
    for place, value in texts(subject.value):
        if searched.search(value):
            told = place_of(place, subject.denylist, lambda name: searched.search(name) is not None)
            return Finding(FAIL, f"forbidden pattern at {told}")
    return Finding(PASS, "the pattern is nowhere")


def require(subject: Subject, params: Params) -> Finding:
    searched = compiled(params["pattern"])
    for place, value in texts(subject.value):
        if searched.search(value):
            told = place_of(place, subject.denylist, lambda name: searched.search(name) is not None)
            return Finding(PASS, f"required pattern at {told}")
    return Finding(FAIL, "the required pattern is nowhere")


_PARAMS = {"pattern": pattern}
FORBID = Evaluator(forbid, _PARAMS, frozenset(_PARAMS))
REQUIRE = Evaluator(require, _PARAMS, frozenset(_PARAMS))
