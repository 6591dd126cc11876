"""Validation of RTES events (SAOP guide, 3): a table of members and checks, in the guide's order.

Unknown members pass; `drop_unknown` takes them out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schemas.members import (
    MAX_ERRORS,
    Member,
    MemberPath,
    choice_check,
    first_problems,
    is_id,
    missing_member,
    not_an_object,
    problems_of,
    uuid_check,
)
from schemas.problems import Problem, pointer
from schemas.rtes.models import BY_NAME

__all__ = ["MAX_ERRORS", "validate_event", "validate_payload"]

_TYPE = choice_check("event_type_unknown", tuple(BY_NAME))
_EVENT_MEMBERS = (
    Member("event_id", uuid_check("event_id_invalid")),
    Member("session_id", is_id),
)
_MEMBERS = {name: event_type.members for name, event_type in BY_NAME.items()}
_AVRO_MEMBERS = {name: event_type.avro_members for name, event_type in BY_NAME.items()}


def validate_event(value: object, avro: bool = False) -> list[Problem]:
    """Return the problems of an event's JSON, in the guide's order, at most 16.

    The first one decides.

    avro: the value is the JSON form of an Avro record, in which non-finite numbers are strings.
    """
    if not isinstance(value, dict):
        return [not_an_object("event")]
    return first_problems(_event_problems(value, avro))


def validate_payload(value: object, avro: bool = False) -> list[Problem]:
    """Validate the payload alone; paths begin at the payload."""
    return first_problems(_payload_problems(value, (), avro))


def _event_problems(event: dict[str, Any], avro: bool) -> Iterator[Problem]:
    yield from problems_of(event, _EVENT_MEMBERS, ())
    if "payload" not in event:
        yield missing_member("payload", ())
    else:
        yield from _payload_problems(event["payload"], ("payload",), avro)


def _payload_problems(payload: object, path: MemberPath, avro: bool) -> Iterator[Problem]:
    if not isinstance(payload, dict):
        yield not_an_object("payload", path)
        return
    if "type" not in payload:
        yield missing_member("type", path)
        return
    violation = _TYPE(payload["type"])
    if violation:
        yield Problem(violation[0], pointer(*path, "type"), f"type must be {violation[1]}.")
        return
    table = _AVRO_MEMBERS if avro else _MEMBERS
    yield from problems_of(payload, table[payload["type"]], path)
