"""What the cache's answers do to the tasks that asked.

A hit answers the task.  A miss sends it to an agent, or fails it if only the cache was to answer.
For a task that is closed meanwhile, a place in a queue or a lead is given back.

A hit whose outcome would be too much for one record is told without the steps of its check; if it
is too much even so, it counts as a miss.

A task that a `system` producer has begun to report on before its answer came goes on with that:
the machine lets a cached answer, or the lack of one, end a task from QUEUED only.

Source: SAP spec, 5.4.
"""

from __future__ import annotations

from typing import Any

from schemas import to_json
from streams.engine.processor import AvroValue
from streams.protocols.sap.constitution import Evaluation
from streams.protocols.sap.processor import (
    deadlines,
    dispatch,
    judging,
    lookups,
    outcomes,
    publishing,
)
from streams.protocols.sap.processor.case import Case
from streams.protocols.sap.processor.outcomes import Answer
from streams.protocols.sap.processor.publishing import Hit

Json = dict[str, Any]

VERDICT = "headrace.sap.SapCacheVerdict"
_UNANSWERED = frozenset({"miss", "stale", "misaligned", "wait_expired"})
_ENDED = frozenset({"store_duplicate", "released", "flight_lapsed"})
"""Verdicts after which the task leads no flight."""


def apply(case: Case, verdict: AvroValue, *, brief: bool = False) -> None:
    """verdict: SapCacheVerdict.  brief: what comes of it does without the steps of a trace."""
    name = verdict["verdict"]
    deadlines.expire_overdue(case)
    if name == "stored":
        _note(case, storedVersion=verdict["version"])
    elif name == "cache_version_exists":
        _note(case, storeRefused=True)
    elif name in _ENDED:
        _note(case, flightLeader=False)
    elif not case.closed:
        _answer(case, verdict, brief)
    elif name == "waiting" or verdict["leader"]:
        lookups.release(case, f"the task is {case.state}")


def decline(case: Case, verdict: AvroValue, reason: str) -> None:
    """A hit whose outcome is more than one record may hold: as good as no answer.

    Raises ValueError for any other verdict, which never causes as much.
    """
    if verdict["verdict"] != "hit" or case.state != "QUEUED":
        raise ValueError(f"{verdict['verdict']} for a task that is {case.state}: {reason}")
    case.row["cacheState"] = "missed"
    _missed(case, {**verdict, "reason": f"{verdict['reason']}; {reason}"})
    case.save()


def _note(case: Case, **changes: Any) -> None:
    if any(case.row[name] != value for name, value in changes.items()):
        case.row.update(changes)
        case.save()


def _answer(case: Case, verdict: AvroValue, brief: bool) -> None:
    name, row = verdict["verdict"], case.row
    if name == "waiting":
        row["cacheState"] = "waiting"
    elif name == "hit":
        row["cacheState"] = "hit" if case.state == "QUEUED" else "missed"
        if case.state == "QUEUED":
            _hit(case, verdict, brief)
    elif name in _UNANSWERED:
        row["cacheState"], row["flightLeader"] = "missed", verdict["leader"]
        _missed(case, verdict)
    else:
        raise ValueError(f"{name} is no verdict of the cache")
    case.save()


def _hit(case: Case, verdict: AvroValue, brief: bool) -> None:
    shown = to_json(VERDICT, verdict)
    record: Json = shown["record"]
    case.row["hitVersion"] = verdict["version"]
    rechecked = _rechecked(shown, case)
    answer = Answer(
        "SUCCEEDED",
        "cache_hit",
        judging.of_hit(rechecked, record, case),
        output=record["output"],
        citations=record["citations"],
        record={name: record[name] for name in ("version", "recordSha256", "taskId", "producer")},
        brief=brief,
    )
    publishing.publish(case, answer, hit=Hit(verdict["version"], verdict["ageSec"]))


def _rechecked(shown: Json, case: Case) -> Evaluation | None:
    """What the cache has found; its steps, which no verdict holds, are derived again."""
    if shown["checks"] is None:
        return None
    steps: list[Any] = []
    constitution = case.scene.constitution
    if case.row["trace"] and shown["constitution"] == constitution.label:
        steps = judging.evaluate_record(case.task, shown["record"], case.policy, constitution).steps
    return Evaluation("VALID", shown["checks"], shown["violations"] or [], steps)


def _missed(case: Case, verdict: AvroValue) -> None:
    if case.accepted["mode"] == "prefer":
        dispatch.dispatch(case)
    elif case.state == "QUEUED":
        accepted = case.accepted
        error = outcomes.cache_miss(verdict["verdict"], verdict["reason"], accepted["cacheKey"])
        answer = Answer("FAILED", "cache_only_miss", judging.unevaluated(case), error)
        publishing.publish(case, answer)
