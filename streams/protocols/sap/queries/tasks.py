"""One task: where it stands, the verdicts on what was sent about it, and its outcomes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streams.errors import NotFound
from streams.protocols.sap.queries.common import Json, json_of, named
from streams.protocols.sap.task_row import FROM_OUTCOME
from streams.views.keys import key
from streams.views.reads import Reads
from topology.sap import SAP_ACKS, SAP_OUTCOMES, SAP_TASK_STATES, SAP_TASKS, SAP_VERDICTS

_OF_ROW = (
    *("taskId", "correlationId", "parentTaskId", "state", "position", "acceptedAt", "startedAt"),
    *("updatedAt", "closedAt", "deadline", "issuer", "target", "producer"),
)
_ACCEPTED = ("mode", "maxAgeSec", "mustAlign", "cacheKey", "fingerprint", "removedKeys")


def task(view: Reads, taskId: str) -> Json:
    """Raises NotFound when nothing was ever said of it."""
    task_id = named(taskId)
    acks = list(acks_of(view, task_id))
    row = state_of(view, task_id)
    if row is None and not acks:
        raise NotFound(f"there is no task {taskId}")
    answer = _unknown(task_id, acks) if row is None else _known(row)
    answer["acks"] = acks
    answer["outcomes"] = list(outcomes_of(view, task_id))
    answer["task"] = None if row is None else sent(view, row["position"])
    return answer


def _known(row: Json) -> Json:
    accepted = row["accepted"]
    cache = {
        **{name: accepted[name] for name in _ACCEPTED},
        "state": row["cacheState"],
        "leader": row["flightLeader"],
        "hitVersion": row["hitVersion"],
        "storedVersion": row["storedVersion"],
        "storeRefused": row["storeRefused"],
    }
    return {
        **{name: row[name] for name in _OF_ROW},
        "cache": cache,
        "heuristicsVersion": accepted["policy"]["heuristicsVersion"],
        "constitution": row["constitution"],
        **{name: row[name] for name in FROM_OUTCOME},
    }


def _unknown(task_id: str, acks: list[Json]) -> Json:
    """Of a task that was never taken on: what was refused says which trace it would belong to."""
    members = (*_OF_ROW, "cache", "heuristicsVersion", "constitution", *FROM_OUTCOME)
    correlation_id = acks[-1]["correlationId"]
    return {**dict.fromkeys(members), "taskId": task_id, "correlationId": correlation_id}


def state_of(view: Reads, task_id: str) -> Json | None:
    """The SapTaskState; task_id: in lower case, as everywhere below."""
    row = view.get("sap task", task_id)
    return None if row is None else json_of(SAP_TASK_STATES, row)


def acks_of(view: Reads, task_id: str) -> Iterator[Json]:
    """In log order."""
    for _, row in view.scan(key("sap ack", task_id)):
        yield json_of(SAP_ACKS, row)


def ack_at(view: Reads, task_id: str, position: str) -> Json | None:
    """The verdict on the record at that position."""
    for _, row in view.scan(key("sap ack", task_id), reverse=True):
        ack = json_of(SAP_ACKS, row)
        if ack["position"] == position:
            return ack
    return None


def outcomes_of(view: Reads, task_id: str) -> Iterator[Json]:
    """By seq."""
    for _, row in view.scan(key("sap outcome", task_id)):
        yield json_of(SAP_OUTCOMES, row)


def end_of(view: Reads, task_id: str) -> Json | None:
    """The terminal outcome."""
    place = view.get("sap end", task_id)
    if place is None:
        return None
    (row,) = view.get_many([place])
    return None if row is None else json_of(SAP_OUTCOMES, row)


def verdicts_of(view: Reads, task_id: str) -> Iterator[Json]:
    """The cache's, in log order."""
    for _, row in view.scan(key("sap verdict", task_id)):
        yield json_of(SAP_VERDICTS, row)


def sent(view: Reads, position: str) -> Any:
    """The task at a position of `sap.tasks`, as it was sent."""
    _, partition, offset = position.rsplit("/", 2)
    row = view.get("sap sent", int(partition), int(offset))
    return None if row is None else json_of(SAP_TASKS, row)
