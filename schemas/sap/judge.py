"""A record of a command topic, judged: its JSON, and what is wrong with it."""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas.problems import Problem
from schemas.sap.check import UNREAD
from schemas.sap.forms import JsonObject, envelope_hash, raw_json
from schemas.sap.shapes import ENVELOPES
from schemas.sap.validate import problems_of

_DEEPEST = 4


class Judged(NamedTuple):
    """One envelope.

    json: without nulls and without what could not be read; ids as sent.  problems: the one that
    decides first.  sha256: None for what has no canonical JSON.
    """

    json: JsonObject
    problems: list[Problem]
    sha256: str | None


def judge(kind: str, value: dict[str, Any]) -> Judged:
    """kind: `task`, `result` or `signal`.  value: the Avro value, as sent by anyone."""
    shape = ENVELOPES[kind]
    raw = raw_json(shape, value)
    problems = problems_of(shape, raw.json, raw.problems)
    if not raw.problems:
        return Judged(raw.json, problems, _hash(raw.json))
    shown: JsonObject = _readable(raw.json, 0)
    return Judged(shown, problems, None)


def _hash(envelope: JsonObject) -> str | None:
    try:
        return envelope_hash(envelope)
    except ValueError:
        return None


def _readable(value: Any, depth: int) -> Any:
    """Without open JSON that could not be read; it stands in the upper objects only."""
    if isinstance(value, dict) and depth < _DEEPEST:
        return {n: _readable(item, depth + 1) for n, item in value.items() if item is not UNREAD}
    return value
