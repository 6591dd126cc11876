"""The effects of the cache's verdicts on the tasks that asked.

A hit completes the task.  A miss sends it to an agent, or fails it if only the cache may answer.
If the task is closed by then, its wait or its flight is released.

A hit whose outcome is too large for one record is published without the steps of its evaluation; if
it is still too large, it counts as a miss.

A task may get a report of a `system` producer before the cache's verdict.  Then the report counts:
the machine lets a cached answer, or the lack of one, end a task from QUEUED only.

Source: SAP guide, 5.4.
"""

from __future__ import annotations

from typing import Any

from schemas import to_json
from streams.engine.processor import AvroValue
from streams.protocols.sap.constitution import Evaluation
from streams.protocols.sap.processor import alignment, lookups, outcomes
from streams.protocols.sap.processor.aggregate import TaskAggregate
from streams.protocols.sap.processor.outcomes import Hit, OutcomeDraft

Json = dict[str, Any]

VERDICT = "headrace.sap.SapCacheVerdict"
_UNANSWERED = frozenset({"miss", "stale", "misaligned", "wait_expired"})
_ENDED = frozenset({"store_duplicate", "released", "flight_lapsed"})
"""Verdicts after which the task leads no flight."""


def apply(task: TaskAggregate, verdict: AvroValue, *, brief: bool = False) -> None:
    """Apply a SapCacheVerdict.  brief: publish no steps, even if the task asks for a trace."""
    name = verdict["verdict"]
    outcomes.expire_overdue(task)
    if name == "stored":
        _update(task, storedVersion=verdict["version"])
    elif name == "cache_version_exists":
        _update(task, storeRefused=True)
    elif name in _ENDED:
        _update(task, flightLeader=False)
    elif not task.closed:
        _apply_reply(task, verdict, brief)
    elif name == "waiting" or verdict["leader"]:
        lookups.release(task, f"the task is {task.state}")


def decline(task: TaskAggregate, verdict: AvroValue, reason: str) -> None:
    """Handle a hit whose outcome is larger than a record as a miss.

    Raises ValueError for any other verdict, whose output is never as large.
    """
    if verdict["verdict"] != "hit" or task.state != "QUEUED":
        raise ValueError(f"{verdict['verdict']} for a task that is {task.state}: {reason}")
    task.row["cacheState"] = "missed"
    _handle_miss(task, {**verdict, "reason": f"{verdict['reason']}; {reason}"})
    task.save()


def _update(task: TaskAggregate, **changes: Any) -> None:
    if any(task.row[name] != value for name, value in changes.items()):
        task.row.update(changes)
        task.save()


def _apply_reply(task: TaskAggregate, verdict: AvroValue, brief: bool) -> None:
    name, row = verdict["verdict"], task.row
    if name == "waiting":
        row["cacheState"] = "waiting"
    elif name == "hit":
        row["cacheState"] = "hit" if task.state == "QUEUED" else "missed"
        if task.state == "QUEUED":
            _handle_hit(task, verdict, brief)
    elif name in _UNANSWERED:
        row["cacheState"], row["flightLeader"] = "missed", verdict["leader"]
        _handle_miss(task, verdict)
    else:
        raise ValueError(f"{name} is no verdict of the cache")
    task.save()


def _handle_hit(task: TaskAggregate, verdict: AvroValue, brief: bool) -> None:
    reply = to_json(VERDICT, verdict)
    record: Json = reply["record"]
    task.row["hitVersion"] = verdict["version"]
    draft = OutcomeDraft(
        "SUCCEEDED",
        "cache_hit",
        alignment.of_hit(_evaluation_of(reply, task), record, task),
        output=record["output"],
        citations=record["citations"],
        record={name: record[name] for name in ("version", "recordSha256", "taskId", "producer")},
        hit=Hit(verdict["version"], verdict["ageSec"]),
        brief=brief,
    )
    outcomes.publish(task, draft)


def _evaluation_of(reply: Json, task: TaskAggregate) -> Evaluation | None:
    """Return the cache's evaluation; its steps are derived again, because no verdict has them."""
    if reply["checks"] is None:
        return None
    steps: list[Any] = []
    constitution = task.ctx.constitution
    if task.row["trace"] and reply["constitution"] == constitution.label:
        steps = alignment.evaluate_record(
            task.json, reply["record"], task.policy, constitution
        ).steps
    return Evaluation("VALID", reply["checks"], reply["violations"] or [], steps)


def _handle_miss(task: TaskAggregate, verdict: AvroValue) -> None:
    if task.accepted["mode"] == "prefer":
        task.dispatch()
    elif task.state == "QUEUED":
        error = _cache_miss(verdict["verdict"], verdict["reason"], task.accepted["cacheKey"])
        nothing = alignment.unevaluated(task)
        outcomes.publish(task, OutcomeDraft("FAILED", "cache_only_miss", nothing, error))


def _cache_miss(verdict: str, reason: str, cache_key: str) -> Json:
    return {
        "code": "CACHE_MISS",
        "message": f"The cache has no answer that may be used: {verdict}.",
        "details": {"verdict": verdict, "reason": reason, "cacheKey": cache_key},
    }
