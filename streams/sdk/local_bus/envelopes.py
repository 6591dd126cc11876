"""Envelopes sent to a bus: objects or mappings, made plain JSON, checked as the HTTP edge checks.

Source: SAP guide, 6.3.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from schemas import Problem, canonical_json, sap
from schemas.formats import is_uuid
from schemas.nesting import MAX_OPEN_NESTING, too_deep
from schemas.sap import rules
from streams.engine.records import Output
from streams.errors import InvalidInput, OutputTooLarge
from streams.ingress.edges import ingress_topic_of
from streams.processing.encode import to_output
from streams.sdk.local_bus.receipts import Nack
from streams.settings import Settings
from topology.declarations import Topic
from topology.sap import SAP_RESULTS, SAP_SIGNALS, SAP_TASKS


class Ingress(NamedTuple):
    """One way in.  kind: of transcript entries.  id: the member that names a message."""

    kind: str
    topic: Topic
    subject: str
    id: str = "taskId"


TASK = Ingress("task", SAP_TASKS, "TASK")
RESULT = Ingress("result", SAP_RESULTS, "RESULT")
SIGNAL = Ingress("signal", SAP_SIGNALS, "SIGNAL", "signalId")


def plain(value: Any, level: int = 1) -> Any:
    """Convert models and mappings to dicts, sequences to lists; return anything else as it is.

    A value that is nested more deeply than any envelope may be is returned as it is, too.
    """
    if level > MAX_OPEN_NESTING:
        return value
    if isinstance(value, sap.SapObject):
        return plain(_members(value), level)
    if isinstance(value, Mapping):
        return {name: plain(member, level + 1) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, level + 1) for item in value]
    return value


def _members(value: sap.SapObject) -> Any:
    try:
        return value.to_json()
    except RecursionError:
        return None


def is_json(value: Any) -> bool:
    """Return whether a plain value has a canonical form."""
    try:
        canonical_json(value)
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def recordable(value: Any) -> Any:
    """Return a value as it was sent; for one that is not JSON, its text."""
    deep = too_deep(value, limit=MAX_OPEN_NESTING)
    return value if is_json(value) and not deep else {"text": _text(value)}


def _text(value: Any) -> str:
    try:
        return json.dumps(value, default=repr)
    except (ValueError, TypeError, RecursionError):
        return repr(type(value))


def usable_id(value: Any) -> str | None:
    """Return a UUID in lower case, None for anything else."""
    return value.lower() if isinstance(value, str) and is_uuid(value) else None


def ids_of(value: Any) -> tuple[str | None, str | None]:
    """Return taskId and correlationId, None where unusable."""
    return usable_id(member(value, "taskId")), usable_id(member(value, "correlationId"))


def member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def message_id(door: Ingress, value: Any, made: str) -> str:
    """Return the id that the sender set, in any form; without one, `made`."""
    id = member(value, door.id)
    return id if isinstance(id, str) and id else made


def checked(door: Ingress, value: Any, now: int, settings: Settings) -> Output | list[Problem]:
    """Return the record of a valid envelope, or all violated rules, the deciding one first."""
    try:
        return to_output(ingress_topic_of(door.topic.name), value, now, settings)
    except InvalidInput as exc:
        return list(exc.problems)
    except OutputTooLarge as exc:
        return [Problem(rules.TOO_LARGE.code, "", exc.message)]


def reason_of(problem: Problem) -> str:
    """Return the reason that a NACK of the sap processor has for a violated rule of shape."""
    return f"{problem.path or 'the envelope'}: {problem.message}"


def refused(door: Ingress, value: Any, problems: list[Problem], reason: str, id: str) -> Nack:
    """Return the Nack of an envelope that was not written to the log."""
    first = problems[0]
    correlation_id = member(value, "correlationId")
    return Nack(
        messageId=id,
        correlationId=correlation_id if isinstance(correlation_id, str) else None,
        reason=reason,
        code=sap.nack_code(first.rule, door.subject),
        rule=first.rule,
        errors=tuple(problems),
    )
