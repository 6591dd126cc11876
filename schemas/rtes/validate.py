"""Validation of RTES events (spec saop 3): a table of members and checks, in the spec's order.

Unknown members pass; `drop_unknown` takes them out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schemas.members import (
    AGENT,
    MAX_ERRORS,
    TIME,
    Member,
    Place,
    first_ones,
    is_flag,
    is_open_object,
    is_text,
    is_turn_index,
    missing,
    no_object,
    number_that,
    one_of,
    problems_of,
    uuid_that,
)
from schemas.problems import Problem, pointer
from schemas.rtes.models import PAYLOAD_MODELS

__all__ = ["MAX_ERRORS", "PAYLOAD_MEMBERS", "validate_event", "validate_payload"]

_WORDS = tuple(PAYLOAD_MODELS)
_TYPE = one_of("event_type_unknown", _WORDS)
_STATUS = one_of("status_unknown", ("success", "failure", "timeout"))
_DURATION, _AVRO_DURATION = number_that(
    "duration_invalid", "a finite number, not below 0", lambda number: number >= 0
)
_TIME = Member("timestamp", TIME)
_EVENT_MEMBERS = (
    Member("event_id", uuid_that("event_id_invalid")),
    Member("session_id", is_text),
)

PAYLOAD_MEMBERS: dict[str, tuple[Member, ...]] = {
    "THOUGHT_STREAM": (
        Member("agent_id", AGENT),
        Member("turn_index", is_turn_index),
        Member("chunk", is_text),
        Member("is_final", is_flag),
    ),
    "TOOL_LIFECYCLE_INVOKED": (
        Member("call_id", is_text),
        Member("tool", is_text),
        Member("arguments", is_open_object),
        _TIME,
    ),
    "TOOL_LIFECYCLE_COMPLETED": (
        Member("call_id", is_text),
        Member("tool", is_text),
        Member("status", _STATUS),
        Member("duration_ms", _DURATION),
        _TIME,
    ),
    "TASK_TRANSITION": (
        Member("task_id", is_text),
        Member("from_state", is_text),
        Member("to_state", is_text),
        Member("git_hash", is_text, required=False),
        _TIME,
    ),
    "SANDBOX_PULSE": (
        Member("line", is_text),
        Member("masked", is_flag),
        _TIME,
    ),
}
_AVRO_MEMBERS = PAYLOAD_MEMBERS | {
    "TOOL_LIFECYCLE_COMPLETED": tuple(
        Member(member.name, _AVRO_DURATION) if member.check is _DURATION else member
        for member in PAYLOAD_MEMBERS["TOOL_LIFECYCLE_COMPLETED"]
    )
}


def validate_event(value: object, avro: bool = False) -> list[Problem]:
    """What breaks the rules in an event's JSON, at most 16, in the spec's order: the first decides.

    avro: the value is the JSON form of an Avro record, in which non-finite numbers are words.
    """
    if not isinstance(value, dict):
        return [no_object("event")]
    return first_ones(_event_problems(value, avro))


def validate_payload(value: object, avro: bool = False) -> list[Problem]:
    """The same for the payload alone; paths begin at the payload."""
    return first_ones(_payload_problems(value, (), avro))


def _event_problems(event: dict[str, Any], avro: bool) -> Iterator[Problem]:
    yield from problems_of(event, _EVENT_MEMBERS, ())
    if "payload" not in event:
        yield missing("payload", ())
    else:
        yield from _payload_problems(event["payload"], ("payload",), avro)


def _payload_problems(payload: object, place: Place, avro: bool) -> Iterator[Problem]:
    if not isinstance(payload, dict):
        yield no_object("payload", place)
        return
    if "type" not in payload:
        yield missing("type", place)
        return
    broken = _TYPE(payload["type"])
    if broken:
        yield Problem(broken[0], pointer(*place, "type"), f"type must be {broken[1]}.")
        return
    table = _AVRO_MEMBERS if avro else PAYLOAD_MEMBERS
    yield from problems_of(payload, table[payload["type"]], place)
