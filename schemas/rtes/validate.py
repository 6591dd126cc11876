"""Validation of RTES events (SAOP guide, 3): a table of members and checks, in the guide's order.

Unknown members pass; `drop_unknown` takes them out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from schemas.members import (
    AGENT,
    AGENTS,
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
from schemas.rtes.models import BY_NAME, OTEL, OTHER_AGENT

__all__ = ["MAX_ERRORS", "validate_event", "validate_payload"]

_TYPE = choice_check("event_type_unknown", tuple(BY_NAME))
_EVENT_MEMBERS = (
    Member("event_id", uuid_check("event_id_invalid")),
    Member("session_id", is_id),
)
_MEMBERS = {name: event_type.members for name, event_type in BY_NAME.items()}
_AVRO_MEMBERS = {name: event_type.avro_members for name, event_type in BY_NAME.items()}
_ANY_AGENT = choice_check("agent_unknown", (*AGENTS, OTHER_AGENT))
_OTEL_MEMBERS = {
    name: tuple(m._replace(check=_ANY_AGENT) if m.check is AGENT else m for m in members)
    for name, members in _AVRO_MEMBERS.items()
}


def validate_event(value: object, avro: bool = False) -> list[Problem]:
    """Return the problems of an event's JSON, in the guide's order, at most 16.

    The first one decides.

    avro: the value is the JSON form of an Avro record, in which non-finite numbers are strings.
    It has `origin`, by which an agent may be `other`.
    """
    if not isinstance(value, dict):
        return [not_an_object("event")]
    return first_problems(_event_problems(value, avro))


def validate_payload(value: object, avro: bool = False) -> list[Problem]:
    """Validate the payload alone; paths begin at the payload."""
    return first_problems(_payload_problems(value, (), _AVRO_MEMBERS if avro else _MEMBERS))


def _event_problems(event: dict[str, Any], avro: bool) -> Iterator[Problem]:
    yield from problems_of(event, _EVENT_MEMBERS, ())
    if "payload" not in event:
        yield missing_member("payload", ())
    else:
        yield from _payload_problems(event["payload"], ("payload",), _members_of(event, avro))


def _members_of(event: dict[str, Any], avro: bool) -> Mapping[str, tuple[Member, ...]]:
    """Return the checks of payloads, by type, for an event of this origin."""
    if not avro:
        return _MEMBERS
    return _OTEL_MEMBERS if event.get("origin") == OTEL else _AVRO_MEMBERS


def _payload_problems(
    payload: object, path: MemberPath, table: Mapping[str, tuple[Member, ...]]
) -> Iterator[Problem]:
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
    yield from problems_of(payload, table[payload["type"]], path)
