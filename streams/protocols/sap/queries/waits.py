"""What senders may wait for: the outcome of a task, the verdict on a result or a signal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas import sap
from streams.api.problems import Response
from streams.protocols.sap.queries.common import Json
from streams.protocols.sap.queries.tasks import ack_at, end_of, state_of
from streams.views.reads import Reads


def outcome(view: Reads, task: Mapping[str, Any], cause: str) -> Response | None:
    """The terminal outcome of a task that was taken on, now or before; a NACK at once."""
    task_id = task["taskId"].lower()
    ack = ack_at(view, task_id, cause)
    if ack is None:
        return None
    if ack["status"] == "NACK":
        return verdict(ack)
    end = end_of(view, task_id)
    return None if end is None else Response(200, end, fact=True)


def ack(view: Reads, envelope: Mapping[str, Any], cause: str) -> Response | None:
    found = ack_at(view, envelope["taskId"].lower(), cause)
    return None if found is None else verdict(found)


def verdict(found: Json) -> Response:
    """A SapAck with the status that its rule has."""
    if found["status"] == "ACK":
        return Response(200, found, fact=True)
    later = found["retryAfterMs"]
    more = {} if later is None else {"Retry-After": str(-(-later // 1000))}
    return Response(sap.http_status(found["rule"]), found, more, fact=True)


def late(view: Reads | None, envelope: Mapping[str, Any]) -> Json:
    """Where the task stands when time is up; null while that is not known."""
    task_id = envelope["taskId"].lower()
    row = None if view is None else state_of(view, task_id)
    return {"taskId": task_id, "state": None if row is None else row["state"]}
