"""Validation of tasks, results and signals: all problems, the one that decides first.

Source: SAP guide, 1, 2, 2.1 to 2.3, 3.1 and 3.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schemas.canonical import canonical_json
from schemas.problems import Problem
from schemas.sap import constants, rules
from schemas.sap.check import Checker
from schemas.sap.constants import is_blank, is_id, parse_seconds
from schemas.sap.shapes import DECISION, NOTE, RATING, Shape, without_nulls

_NAMING = {
    rule.code
    for rule in (
        rules.BAD_AGENT_ID,
        rules.BAD_CAPABILITY,
        rules.BAD_SIGNAL,
        rules.ERROR_MESSAGE_MISSING,
    )
}
_GENERAL = {
    rule.code
    for rule in (
        rules.TOO_LONG,
        rules.MISSING_FIELD,
        rules.EMPTY_STRING,
        rules.OUT_OF_RANGE,
    )
}
OK_ALIGNMENTS = {"SUCCEEDED": ("VALID",), "PARTIAL": ("VALID", "ESCALATE")}
"""The alignments allowed with a status; other statuses allow all (SAP guide, 3.6)."""


def problems_of(shape: Shape, value: object, before: list[Problem] | None = None) -> list[Problem]:
    """Return all problems, the one that decides first.  before: those of reading the value."""
    checker = Checker()
    checker.problems += before or []
    checker.check(shape, value, ())
    if isinstance(value, dict):
        checker.problems += _RELATIONS[shape.record](value)
        checker.problems += _size(shape, value)
    return _in_order(checker.problems)


def _in_order(problems: list[Problem]) -> list[Problem]:
    """Sort by path, then by the rule table; drop general problems where a specific one names the
    path.

    Source: SAP guide, 3.1.
    """
    named = {problem.path for problem in problems if problem.rule in _NAMING}
    remaining = [p for p in problems if p.rule not in _GENERAL or p.path not in named]
    return sorted(remaining, key=lambda p: (p.path, rules.ROWS[p.rule], p.rule))


def _size(shape: Shape, value: dict[str, Any]) -> Iterator[Problem]:
    try:
        size = len(canonical_json(without_nulls(shape, value)))
    except (ValueError, TypeError, RecursionError):
        return  # other rules report it
    if size > constants.MAX_ENVELOPE_BYTES:
        limit = f"{constants.MAX_ENVELOPE_BYTES} are allowed"
        message = f"The envelope has {size} bytes of canonical JSON, {limit}."
        yield Problem(rules.TOO_LARGE.code, "", message)


def _task(task: dict[str, Any]) -> Iterator[Problem]:
    task_id, parent = task.get("taskId"), task.get("parentTaskId")
    both = isinstance(task_id, str) and isinstance(parent, str) and is_id(task_id)
    if both and str(task_id).lower() == str(parent).lower():
        message = "parentTaskId must be another task's id."
        yield Problem(rules.SELF_PARENT.code, "/parentTaskId", message)
    telemetry = task.get("telemetry")
    deadline = telemetry.get("deadline") if isinstance(telemetry, dict) else None
    issued, due = _moment(task.get("issuedAt")), _moment(deadline)
    if issued is not None and due is not None and due < issued:
        message = "deadline must not be before issuedAt."
        yield Problem(rules.DEADLINE_BEFORE_ISSUE.code, "/telemetry/deadline", message)


def _moment(value: Any) -> int | None:
    return parse_seconds(value) if isinstance(value, str) else None


def _result(result: dict[str, Any]) -> Iterator[Problem]:
    error = result.get("error")
    members = error if isinstance(error, dict) else {}
    message = members.get("message")
    silent = message is None or (isinstance(message, str) and is_blank(message))
    readable = error is None or isinstance(error, dict)
    if result.get("status") == "FAILED" and readable and silent:
        text = "FAILED needs an error.message that is not blank."
        yield Problem(rules.ERROR_MESSAGE_MISSING.code, "/error/message", text)
    evidence = result.get("constitutionalEvidence")
    alignment = evidence.get("alignment") if isinstance(evidence, dict) else None
    if alignment in constants.ALIGNMENTS and not _goes_with(result, alignment, members):
        text = "alignment does not go with the status and the error.code."
        path = "/constitutionalEvidence/alignment"
        yield Problem(rules.ALIGNMENT_STATUS_MISMATCH.code, path, text)


def _goes_with(result: dict[str, Any], alignment: str, error: dict[str, Any]) -> bool:
    status = result.get("status")
    if error.get("code") == "NON_CONSTITUTIONAL" and alignment != "NON_CONSTITUTIONAL":
        return False
    if not isinstance(status, str):
        return True
    return alignment in OK_ALIGNMENTS.get(status, constants.ALIGNMENTS)


def _signal(signal: dict[str, Any]) -> Iterator[Problem]:
    """Check which of rating, decision and note go with the kind, and their bounds; the checks of
    shape report a wrong type.
    """
    kind = signal.get("kind")
    if kind not in constants.SIGNAL_KINDS:
        return
    rating, decision, note = (signal.get(name) for name in ("rating", "decision", "note"))
    if (rating is None) is (kind == "rating"):
        yield _bad_signal("rating", "is given with the kind rating, and with no other")
    elif _is_number(rating) and rating not in range(RATING.low, RATING.high + 1):
        yield _bad_signal("rating", f"must be an integer from {RATING.low} to {RATING.high}")
    if (decision is None) is (kind == "approval"):
        yield _bad_signal("decision", "is given with the kind approval, and with no other")
    elif isinstance(decision, str) and decision not in DECISION.words:
        yield _bad_signal("decision", f"must be one of {', '.join(DECISION.words)}")
    if note is None and kind == "note":
        yield _bad_signal("note", "is missing")
    elif isinstance(note, str) and (is_blank(note) or len(note) > NOTE.max_length):
        bounds = f"must not be blank, and have at most {NOTE.max_length} characters"
        yield _bad_signal("note", bounds)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _bad_signal(name: str, message: str) -> Problem:
    return Problem(rules.BAD_SIGNAL.code, f"/{name}", f"{name} {message}.")


_RELATIONS = {"SapTask": _task, "SapResult": _result, "SapSignal": _signal}
