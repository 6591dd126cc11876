"""Whether an output keeps the contract of its task (evaluator `contract`).

Source: SAP spec, 3.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schemas.json_schema import counted
from schemas.json_schema.keywords import NotTaken
from streams.protocols.sap.constitution.model import Evaluator, Finding, Params, Subject
from streams.protocols.sap.constitution.telling import place_of
from streams.protocols.sap.constitution.texts import Place
from streams.protocols.sap.constitution.words import FAIL, PASS, TASK, UNCHECKED, worse_status

FORMAT, SCHEMA = "contract:format", "contract:schema"
_TEXT_FORMATS = ("markdown", "text")
_NO_OUTPUT = Finding(FAIL, "no output")


def findings(contract: Any, output: Any, denylist: Sequence[str] = ()) -> dict[str, Finding]:
    """By the name of the check; a contract that says nothing checkable gives none."""
    if not isinstance(contract, dict):
        return {}
    found = {FORMAT: _format(contract.get("format"), output)}
    if contract.get("schema") is not None:
        schema = contract["schema"]
        found[SCHEMA] = _NO_OUTPUT if output is None else _schema(schema, output, denylist)
    return {name: finding for name, finding in found.items() if finding is not None}


def _format(name: Any, output: Any) -> Finding | None:
    if name not in ("json", *_TEXT_FORMATS):
        return None
    if output is None:
        return _NO_OUTPUT
    if name in _TEXT_FORMATS and not isinstance(output, str):
        return Finding(FAIL, f"{name} is a string")
    return Finding(PASS, name)


def _schema(schema: Any, output: Any, denylist: Sequence[str]) -> Finding:
    try:
        broken = counted.broken_at(schema, output)
    except NotTaken as exc:
        return Finding(UNCHECKED, str(exc))
    if broken is None:
        return Finding(PASS, "valid")
    keyword, path = broken
    place: Place = None
    for step in path:
        place = (place, step)
    return Finding(FAIL, f"{keyword} at {place_of(place, denylist)}")


def check(subject: Subject, params: Params) -> Finding | None:
    if subject.phase == TASK:
        return None
    found = findings(subject.contract, subject.value, subject.denylist)
    if not found:
        return Finding(UNCHECKED, "the task has no contract that can be checked")
    status = PASS
    for finding in found.values():
        status = worse_status(status, finding.status)
    return Finding(status, ", ".join(f"{name} {one.notes}" for name, one in found.items()))


EVALUATOR = Evaluator(check)
