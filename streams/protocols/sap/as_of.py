"""The rows of a task with its verdicts and outcomes, and of a cacheKey, as of a past position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from schemas import encode
from streams.protocols.sap.fold import FOLD
from streams.protocols.sap.queries.rows import end_key, refused_key, refused_prefix
from streams.protocols.sap.queries.tasks import task_key
from streams.protocols.sap.verdicts import REFUSED
from streams.replay.as_of.overlay import Rows
from streams.replay.as_of.point import cause_position
from streams.replay.as_of.query import AsOfQuery, value_of
from streams.replay.as_of.steps import Step
from streams.replay.fold.fold import Row, visible_members
from streams.views.keys import key, number_at_end, position_at_end
from streams.views.positions import Position
from streams.views.reads import RowReader
from topology.declarations import Topic
from topology.machines.sap_task import MACHINE
from topology.sap import SAP_ACKS, SAP_CACHE, SAP_OUTCOMES, SAP_TASK_STATES, SAP_VERDICTS, sap_key

_STORED = "stored"
_FIXED = ("cacheState", "dispatched")
"""Members of a task that do not change after its end."""


def task(query: AsOfQuery) -> Rows:
    task_id = task_key(query.ids["taskId"])
    row_key = key("sap task", task_id)
    (stored,) = query.view.get_many([row_key])
    live = None if stored is None else value_of(SAP_TASK_STATES, stored)
    steps = task_steps(query.view, query.prefix, task_id, live)
    count = query.until(steps)
    rows: Rows = dict.fromkeys(step.row for step in steps[count:])
    row = _fold_task(query, steps[:count], sap_key(task_id))
    if row is None or row["closedAt"] is None:
        rows[end_key(task_id)] = None
    elif live is not None:  # no fact says whether the cache's last answer was read before the end
        row |= {name: live[name] for name in _FIXED}
    encoded = None if row is None else encode(FOLD.table.record, visible_members(row))
    return rows | {row_key: encoded}


def _fold_task(query: AsOfQuery, steps: Sequence[Step], row_key: str) -> Row | None:
    """Fold the steps to the task's row; its times are those of the decisions."""
    row: Row | None = None
    for step in steps:
        if FOLD.row_key(step.topic, step.value) != row_key:
            continue
        before = row
        row = FOLD.step(before, step.topic, step.value, query.command)
        if row is None or before is None or row == before:
            continue
        row["updatedAt"] = step.at
        if step.topic is SAP_OUTCOMES and row["state"] == "RUNNING" and row["startedAt"] is None:
            row["startedAt"] = step.at
        if step.topic is SAP_OUTCOMES and row["state"] in MACHINE.terminal:
            row["closedAt"] = step.at
    return row


def task_steps(view: RowReader, prefix: str, task_id: str, live: Row | None) -> list[Step]:
    """Return the facts of a task by time, each outcome after the step that caused it.

    prefix: of topic names.  live: the row of the task in this view, if it has one.
    """
    steps = [
        *_facts(view, prefix, SAP_ACKS, key("sap ack", task_id)),
        *_facts(view, prefix, SAP_VERDICTS, key("sap verdict", task_id)),
    ]
    steps.sort(key=lambda step: step.at)
    for row_key, row in view.scan(key("sap outcome", task_id)):
        _insert(steps, row_key, value_of(SAP_OUTCOMES, row), live)
    return steps


def _facts(view: RowReader, prefix: str, topic: Topic, rows: bytes) -> list[Step]:
    """Return the facts of a topic as steps, in the order of their partition.

    rows: what the keys of their rows begin with.
    """
    steps = []
    for row_key, row in view.scan(rows):
        _, partition, offset = position_at_end(row_key)
        fact = value_of(topic, row)
        caused = cause_position(fact["position"]) if topic is SAP_ACKS else None
        place = Position(prefix + topic.name, partition, offset)
        positions = (place,) if caused is None else (place, caused)
        steps.append(Step(fact["at"], positions, topic, fact, row_key))
    return sorted(steps, key=lambda step: step.places[0])


def _insert(steps: list[Step], row_key: bytes, outcome: Any, live: Row | None) -> None:
    """Insert an outcome after its cause.

    Only an outcome of a deadline's timer has no other step as its cause; it ends the task.
    """
    cause = cause_position(orjson.loads(outcome["meta_json"])["headrace"]["cause"])
    caused = () if cause is None else (cause,)
    causes = [n for n, step in enumerate(steps) if set(caused) & set(step.places)]
    if causes:
        at, index = steps[causes[-1]].at, causes[-1] + 1
    else:
        at = live["closedAt"] if live is not None and live["closedAt"] else 0
        index = next((n for n, step in enumerate(steps) if step.at > at), len(steps))
    steps.insert(index, Step(at, caused, SAP_OUTCOMES, outcome, row_key))


def cached(query: AsOfQuery) -> Rows:
    """Return the versions of a cache key, each as of the verdict that it was stored."""
    cache_key = query.ids["cacheKey"]
    rows: Rows = {}
    for row_key, row in query.view.scan(key("sap cache", cache_key)):
        record = value_of(SAP_CACHE, row)
        stored = [
            step
            for step in _facts(
                query.view, query.prefix, SAP_VERDICTS, key("sap verdict", record["taskId"])
            )
            if (step.value["verdict"], step.value["version"]) == (_STORED, number_at_end(row_key))
        ]
        if not query.until(stored[:1]):
            rows[row_key] = None
    refused = [
        _refusal(query, row_key) for row_key, _ in query.view.scan(refused_prefix(cache_key))
    ]
    count = sum(query.until([step]) for step in refused)
    return rows | {refused_key(cache_key): b"%d" % count if count else None}


def _refusal(query: AsOfQuery, row_key: bytes) -> Step:
    at, partition, offset = position_at_end(row_key)
    verdict_position = query.position_of(SAP_VERDICTS, partition, offset)
    return Step(at, (verdict_position,), SAP_VERDICTS, {"verdict": REFUSED}, row_key)
