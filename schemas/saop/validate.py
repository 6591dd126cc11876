"""Validation of turn envelopes and rewind commands, in the order of the guide's tables.

Unknown members pass; `drop_unknown` takes them out.

Source: SAOP guide, 2.1, 2.3, 3.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schemas.members import (
    AGENT,
    TIME,
    Member,
    choice_check,
    first_problems,
    is_id,
    is_text,
    is_turn_index,
    missing_member,
    not_an_object,
    number_checks,
    problems_of,
    text_check,
    uuid_check,
)
from schemas.problems import Problem

VERSION = "1.0.0"
PHASES = ("prepare", "confirm", "abort", "apply")
TARGETED = ("prepare", "apply")
"""Phases that name a target."""

_CONFIDENCE, _AVRO_CONFIDENCE = number_checks(
    "confidence_out_of_range", "a finite number from 0 to 1", lambda number: 0 <= number <= 1
)
_HEAD = (Member("turn_index", is_turn_index), Member("agent_id", AGENT), Member("role", AGENT))
_CONTENT = tuple(Member(name, is_text) for name in ("thought", "action", "observation"))
_METADATA = (
    Member("version", text_check("version_unsupported", VERSION, VERSION.__eq__)),
    Member("task_id", is_id),
    Member("timestamp", TIME),
    Member("confidence", _CONFIDENCE),
    Member("estimated_complexity", choice_check("complexity_unknown", ("low", "medium", "high"))),
)
_AVRO_METADATA = tuple(
    Member(member.name, _AVRO_CONFIDENCE) if member.check is _CONFIDENCE else member
    for member in _METADATA
)
_REWIND = (
    Member("rewind_id", uuid_check("rewind_id_invalid")),
    Member("session_id", is_id),
    Member("phase", choice_check("schema_invalid", PHASES)),
    Member("task_id", is_id, required=False, nullable=True),
    Member("git_hash", is_id, required=False, nullable=True),
    Member("requested_by", is_id),
    Member("reason", is_text, required=False, nullable=True),
)

ACTIONS = ("pause", "resume")
_CONTROL = (
    Member("control_id", uuid_check("control_id_invalid")),
    Member("session_id", is_id),
    Member("task_id", is_id),
    Member("action", choice_check("schema_invalid", ACTIONS)),
    Member("requested_by", is_id),
    Member("reason", is_text, required=False, nullable=True),
)


def validate_turn(value: object, avro: bool = False) -> list[Problem]:
    """Return the problems of a turn's JSON, in the guide's order, at most 16.

    The first one decides.

    avro: the value is the JSON form of an Avro record, in which non-finite numbers are strings.
    """
    if not isinstance(value, dict):
        return [not_an_object("turn")]
    return first_problems(_turn_problems(value, avro))


def _turn_problems(turn: dict[str, Any], avro: bool) -> Iterator[Problem]:
    yield from problems_of(turn, _HEAD, ())
    metadata = _AVRO_METADATA if avro else _METADATA
    for name, members in (("content", _CONTENT), ("metadata", metadata)):
        inner = turn.get(name)
        if name not in turn:
            yield missing_member(name, ())
        elif not isinstance(inner, dict):
            yield Problem("schema_invalid", f"/{name}", f"{name} must be an object.")
        else:
            yield from problems_of(inner, members, (name,))


def validate_rewind(value: object) -> list[Problem]:
    """Return what breaks the rules in a rewind command."""
    if not isinstance(value, dict):
        return [not_an_object("command")]
    return first_problems(_rewind_problems(value))


def validate_control(value: object) -> list[Problem]:
    """Return what breaks the rules in a control."""
    if not isinstance(value, dict):
        return [not_an_object("command")]
    return first_problems(problems_of(value, _CONTROL, ()))


def _rewind_problems(command: dict[str, Any]) -> Iterator[Problem]:
    yield from problems_of(command, _REWIND, ())
    phase = command.get("phase")
    targets = [name for name in ("task_id", "git_hash") if command.get(name) is not None]
    if phase in TARGETED and len(targets) != 1:
        path = "/git_hash" if targets else "/task_id"
        yield Problem("schema_invalid", path, "One of task_id and git_hash must be given.")
    elif phase in PHASES and phase not in TARGETED:
        for name in targets:
            yield Problem("schema_invalid", f"/{name}", f"{name} must be null in this phase.")
