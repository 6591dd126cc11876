"""One task: its state, verdicts and outcomes, and the responses to senders who wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from schemas import sap
from schemas.formats import is_uuid
from streams.api.problems import Response
from streams.errors import NotFound
from streams.protocols.sap.task_row import FROM_OUTCOME
from streams.views.keys import key
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, json_of
from topology.sap import SAP_ACKS, SAP_OUTCOMES, SAP_TASK_STATES, SAP_TASKS, SAP_VERDICTS

FROM_ROW = (
    *("taskId", "correlationId", "parentTaskId", "state", "position", "acceptedAt", "startedAt"),
    *("updatedAt", "closedAt", "deadline", "issuer", "target", "producer"),
)
_FROM_ACCEPTED = ("mode", "maxAgeSec", "mustAlign", "cacheKey", "fingerprint", "removedKeys")
_FROM_CACHE = {
    "state": "cacheState",
    "leader": "flightLeader",
    "hitVersion": "hitVersion",
    "storedVersion": "storedVersion",
    "storeRefused": "storeRefused",
}


def task_key(task_id: str) -> str:
    """Return a task's id as its rows have it; a NACK of an envelope without a UUID is under what it
    has instead.
    """
    return task_id.lower() if is_uuid(task_id) else task_id


def task(view: ReadOnlyStore, taskId: str) -> Json:
    """Return all that is known of a task.  Raises NotFound when no record named it."""
    task_id = task_key(taskId)
    acks = list(acks_of(view, task_id))
    row = state_of(view, task_id)
    if row is None and not acks:
        raise NotFound(f"there is no task {taskId}")
    return {
        **(_refused(task_id, acks) if row is None else _accepted(row)),
        "acks": acks,
        "outcomes": list(outcomes_of(view, task_id)),
        "task": None if row is None else task_at(view, row["position"]),
    }


def _accepted(row: Json) -> Json:
    accepted = row["accepted"]
    cache = {name: accepted[name] for name in _FROM_ACCEPTED}
    return {
        **{name: row[name] for name in FROM_ROW},
        "cache": cache | {name: row[member] for name, member in _FROM_CACHE.items()},
        "heuristicsVersion": accepted["policy"]["heuristicsVersion"],
        "constitution": row["constitution"],
        **{name: row[name] for name in FROM_OUTCOME},
    }


def _refused(task_id: str, acks: list[Json]) -> Json:
    """Return what is known of a task that was never accepted: its refusals have its trace."""
    members = (*FROM_ROW, "cache", "heuristicsVersion", "constitution", *FROM_OUTCOME)
    correlation_id = acks[-1]["correlationId"]
    return {**dict.fromkeys(members), "taskId": task_id, "correlationId": correlation_id}


def state_of(view: ReadOnlyStore, task_id: str) -> Json | None:
    """Return the SapTaskState.  task_id: in lower case, as everywhere below."""
    row = view.get("sap task", task_id)
    return None if row is None else json_of(SAP_TASK_STATES, row)


def acks_of(view: ReadOnlyStore, task_id: str) -> Iterator[Json]:
    """Return the verdicts on records about a task, in log order."""
    for _, row in view.scan(key("sap ack", task_id)):
        yield json_of(SAP_ACKS, row)


def ack_at(view: ReadOnlyStore, task_id: str, position: str) -> Json | None:
    """Return the verdict on the record at that position."""
    for _, row in view.scan(key("sap ack", task_id), reverse=True):
        ack = json_of(SAP_ACKS, row)
        if ack["position"] == position:
            return ack
    return None


def outcomes_of(view: ReadOnlyStore, task_id: str) -> Iterator[Json]:
    """Return the outcomes of a task by seq."""
    for _, row in view.scan(key("sap outcome", task_id)):
        yield json_of(SAP_OUTCOMES, row)


def end_of(view: ReadOnlyStore, task_id: str) -> Json | None:
    """Return the terminal outcome."""
    outcome_key = view.get("sap end", task_id)
    if outcome_key is None:
        return None
    (row,) = view.get_many([outcome_key])
    return None if row is None else json_of(SAP_OUTCOMES, row)


def verdicts_of(view: ReadOnlyStore, task_id: str) -> Iterator[Json]:
    """Return the cache's verdicts on a task, in log order."""
    for _, row in view.scan(key("sap verdict", task_id)):
        yield json_of(SAP_VERDICTS, row)


def task_at(view: ReadOnlyStore, position: str) -> Any:
    """Return the task at a position of `sap.tasks`, as it was sent."""
    _, partition, offset = position.rsplit("/", 2)
    row = view.get("sap sent", int(partition), int(offset))
    return None if row is None else json_of(SAP_TASKS, row)


def await_outcome(view: ReadOnlyStore, envelope: Mapping[str, Any], cause: str) -> Response | None:
    """Return the terminal outcome of an accepted task, or a NACK immediately."""
    task_id = envelope["taskId"].lower()
    ack = ack_at(view, task_id, cause)
    if ack is None:
        return None
    if ack["status"] == "NACK":
        return ack_response(ack)
    end = end_of(view, task_id)
    return None if end is None else Response(200, end, fact=True)


def await_ack(view: ReadOnlyStore, envelope: Mapping[str, Any], cause: str) -> Response | None:
    """Return the verdict on a result or a signal."""
    ack = ack_at(view, envelope["taskId"].lower(), cause)
    return None if ack is None else ack_response(ack)


def ack_response(ack: Json) -> Response:
    """Return a SapAck with the status that its rule has."""
    if ack["status"] == "ACK":
        return Response(200, ack, fact=True)
    retry_ms = ack["retryAfterMs"]
    headers = {} if retry_ms is None else {"Retry-After": str(-(-retry_ms // 1000))}
    return Response(sap.http_status(ack["rule"]), ack, headers, fact=True)


def pending_response(view: ReadOnlyStore | None, envelope: Mapping[str, Any]) -> Json:
    """Return the state of the task when time is up; null while that is not known."""
    task_id = envelope["taskId"].lower()
    row = None if view is None else state_of(view, task_id)
    return {"taskId": task_id, "state": None if row is None else row["state"]}
