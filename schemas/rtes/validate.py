"""Validation of RTES events (spec saop 3): a table of members and checks, in the spec's order.

Unknown members pass; `drop_unknown` takes them out.  Messages never quote a value, because it may
be a secret.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from schemas.canonical import canonical_json
from schemas.formats import is_rfc_uuid, is_saop_time
from schemas.nesting import MAX_OPEN_NESTING, too_deep
from schemas.problems import Problem, pointer
from schemas.rtes.models import PAYLOAD_MODELS

MAX_ERRORS = 16

_AGENTS = ("researcher", "architect", "developer", "reviewer")
_STATUSES = ("success", "failure", "timeout")

Check = Callable[[Any], "tuple[str, str] | None"]
"""From a member's value to the rule it breaks and what it must be."""


def _is_text(value: Any) -> tuple[str, str] | None:
    if not isinstance(value, str):
        return "schema_invalid", "a string"
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return "text_invalid", "text without lone surrogates"
    return None


def _text_that(rule: str, what: str, holds: Callable[[str], bool]) -> Check:
    def check(value: Any) -> tuple[str, str] | None:
        return _is_text(value) or (None if holds(value) else (rule, what))

    return check


def _is_flag(value: Any) -> tuple[str, str] | None:
    return None if isinstance(value, bool) else ("schema_invalid", "a boolean")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_turn(value: Any) -> tuple[str, str] | None:
    if not _is_number(value):
        return "schema_invalid", "a number"
    if not 0 <= value < 2**53 or value != int(value):
        return "turn_index_invalid", "an integer from 0 to 9007199254740991"
    return None


def _is_duration(value: Any, avro: bool = False) -> tuple[str, str] | None:
    broken = "duration_invalid", "a finite number, not below 0"
    if not _is_number(value):
        words = isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity")
        return broken if avro and words else ("schema_invalid", "a number")
    try:
        number = float(value)
    except OverflowError:
        return broken
    return None if number >= 0 and number - number == 0 else broken


def _is_avro_duration(value: Any) -> tuple[str, str] | None:
    return _is_duration(value, avro=True)


def _is_open_object(value: Any) -> tuple[str, str] | None:
    if not isinstance(value, dict):
        return "schema_invalid", "an object"
    if too_deep(value, limit=MAX_OPEN_NESTING):
        return "schema_invalid", f"nested no deeper than {MAX_OPEN_NESTING}"
    try:
        canonical_json(value)
    except ValueError:
        return _is_text(json.dumps(value, ensure_ascii=False)) or (
            "schema_invalid",
            "I-JSON with finite numbers",
        )
    return None


class Member(NamedTuple):
    name: str
    check: Check
    required: bool = True


_AGENT = _text_that("agent_unknown", "one of " + ", ".join(_AGENTS), _AGENTS.__contains__)
_STATUS = _text_that("status_unknown", "one of " + ", ".join(_STATUSES), _STATUSES.__contains__)
_TIME = Member(
    "timestamp",
    _text_that(
        "timestamp_invalid", "a UTC date-time, YYYY-MM-DDThh:mm[:ss[.fraction]]Z", is_saop_time
    ),
)
_EVENT_ID = Member("event_id", _text_that("event_id_invalid", "a UUID", is_rfc_uuid))

PAYLOAD_MEMBERS: dict[str, tuple[Member, ...]] = {
    "THOUGHT_STREAM": (
        Member("agent_id", _AGENT),
        Member("turn_index", _is_turn),
        Member("chunk", _is_text),
        Member("is_final", _is_flag),
    ),
    "TOOL_LIFECYCLE_INVOKED": (
        Member("call_id", _is_text),
        Member("tool", _is_text),
        Member("arguments", _is_open_object),
        _TIME,
    ),
    "TOOL_LIFECYCLE_COMPLETED": (
        Member("call_id", _is_text),
        Member("tool", _is_text),
        Member("status", _STATUS),
        Member("duration_ms", _is_duration),
        _TIME,
    ),
    "TASK_TRANSITION": (
        Member("task_id", _is_text),
        Member("from_state", _is_text),
        Member("to_state", _is_text),
        Member("git_hash", _is_text, required=False),
        _TIME,
    ),
    "SANDBOX_PULSE": (
        Member("line", _is_text),
        Member("masked", _is_flag),
        _TIME,
    ),
}


def validate_event(value: object, avro: bool = False) -> list[Problem]:
    """What breaks the rules in an event's JSON, at most 16, in the spec's order: the first decides.

    avro: the value is the JSON form of an Avro record, in which non-finite numbers are words.
    """
    if not isinstance(value, dict):
        return [Problem("schema_invalid", "", "The event must be an object.")]
    return list(_limited(_event_problems(value, avro)))


def validate_payload(value: object, avro: bool = False) -> list[Problem]:
    """The same for the payload alone; paths begin at the payload."""
    return list(_limited(_payload_problems(value, (), avro)))


def _limited(problems: Iterator[Problem]) -> Iterator[Problem]:
    for _, problem in zip(range(MAX_ERRORS), problems, strict=False):
        yield problem


def _event_problems(event: dict[str, Any], avro: bool) -> Iterator[Problem]:
    yield from _member_problems(event, (_EVENT_ID, Member("session_id", _is_text)), ())
    if "payload" not in event:
        yield _missing("payload", ())
    else:
        yield from _payload_problems(event["payload"], ("payload",), avro)


def _payload_problems(payload: object, place: tuple[str, ...], avro: bool) -> Iterator[Problem]:
    if not isinstance(payload, dict):
        yield Problem("schema_invalid", pointer(*place), "The payload must be an object.")
        return
    if "type" not in payload:
        yield _missing("type", place)
        return
    broken = _TYPE(payload["type"])
    if broken:
        yield Problem(broken[0], pointer(*place, "type"), f"type must be {broken[1]}.")
        return
    for member in PAYLOAD_MEMBERS[payload["type"]]:
        if avro and member.check is _is_duration:
            member = Member(member.name, _is_avro_duration)
        yield from _member_problems(payload, (member,), place)


_TYPE = _text_that(
    "event_type_unknown", "one of " + ", ".join(PAYLOAD_MODELS), PAYLOAD_MODELS.__contains__
)


def _member_problems(
    owner: dict[str, Any], members: tuple[Member, ...], place: tuple[str, ...]
) -> Iterator[Problem]:
    for name, check, required in members:
        if name not in owner:
            if required:
                yield _missing(name, place)
            continue
        broken = check(owner[name])
        if broken:
            yield Problem(broken[0], pointer(*place, name), f"{name} must be {broken[1]}.")


def _missing(name: str, place: tuple[str, ...]) -> Problem:
    return Problem("schema_invalid", pointer(*place, name), f"{name} is missing.")
