"""The lookups of a server on the log in a view."""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas.projection import Projection
from streams.protocols.asap.queries.rows import (
    answer_key,
    call_end_key,
    response_key,
    task_row_key,
    verdict_key,
)
from streams.views.parse import parse_position
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, json_of
from topology.asap import ASAP_EVENTS, ASAP_INBOX, ASAP_TASKS

_FACT = Projection(
    ASAP_EVENTS.record or "", ("verdict", "rule", "asap_error", "detail", "task_id", "status")
)
_TASK = Projection(ASAP_TASKS.record or "", ("status",))


class EnvelopeVerdict(NamedTuple):
    """The verdict on an envelope.

    position: of its record.  status: of the task afterwards; None if the fact does not record it.
    """

    position: str
    verdict: str
    rule: str
    asap_error: str | None
    detail: str | None
    task_id: str | None
    status: str | None


def verdict_row(position: str) -> bytes:
    place = parse_position(position)
    return verdict_key(place.partition, place.offset)


def verdict(view: ReadOnlyStore, position: str) -> EnvelopeVerdict | None:
    (row,) = view.get_many([verdict_row(position)])
    if not row:  # no row yet, or a dead letter's
        return None
    fact = _FACT.of(row)
    return EnvelopeVerdict(position, **fact)


def task_row(task_id: str) -> bytes:
    return task_row_key(task_id)


def status(view: ReadOnlyStore, task_id: str) -> str | None:
    """Return the current status of a task."""
    (row,) = view.get_many([task_row_key(task_id)])
    return None if row is None else str(_TASK.of(row)["status"])


def response_row(task_id: str) -> bytes:
    return response_key(task_id)


def response(view: ReadOnlyStore, task_id: str) -> Json | None:
    """Return the recorded TaskResponse in its canonical form."""
    fact = _fact_at_pointer(view, response_row(task_id))
    return None if fact is None else fact["envelope"]


def answer_row(asker: str, envelope_id: str) -> bytes:
    return answer_key(asker, envelope_id)


def answer(view: ReadOnlyStore, asker: str, envelope_id: str) -> Json | None:
    """Return the envelope by which the service answered a StateQuery or StateRestore."""
    (row,) = view.get_many([answer_key(asker, envelope_id)])
    return None if row is None else json_of(ASAP_INBOX, row)


def call_row(call_key: str) -> bytes:
    return call_end_key(call_key)


def call_end(view: ReadOnlyStore, call_key: str) -> Json | None:
    """Return the AsapEvent that closed a call."""
    return _fact_at_pointer(view, call_end_key(call_key))


def _fact_at_pointer(view: ReadOnlyStore, pointer: bytes) -> dict[str, Any] | None:
    (row_key,) = view.get_many([pointer])
    (row,) = view.get_many([row_key]) if row_key is not None else (None,)
    return None if row is None else json_of(ASAP_EVENTS, row)
