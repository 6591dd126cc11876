"""Whether a result names its sources (evaluator `citations`).

Source: SAP spec, 3.4.
"""

from __future__ import annotations

from streams.protocols.sap.constitution.model import Evaluator, Finding, Params, Subject
from streams.protocols.sap.constitution.params import whole
from streams.protocols.sap.constitution.texts import folded
from streams.protocols.sap.constitution.words import FAIL, PASS

DEFAULT_MIN = 1


def check(subject: Subject, params: Params) -> Finding:
    least: int = params.get("min", DEFAULT_MIN)
    given = sum(isinstance(text, str) and bool(folded(text)) for text in subject.citations)
    return (
        Finding(PASS, f"{given} ≥ {least}")
        if given >= least
        else Finding(FAIL, f"{given} < {least}")
    )


EVALUATOR = Evaluator(check, {"min": whole})
