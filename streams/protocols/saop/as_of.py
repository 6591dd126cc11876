"""The rows of a session's task, and of a session, as of a past position."""

from __future__ import annotations

from heapq import merge

from schemas import encode
from streams.engine.records import LogRecord
from streams.protocols.saop.fold import FOLD
from streams.protocols.saop.queries import sessions
from streams.protocols.saop.queries.refused_transitions import refused_transitions
from streams.protocols.saop.rtes.transitions import evolve
from streams.replay.as_of.overlay import Rows
from streams.replay.as_of.query import AsOfQuery, value_of
from streams.replay.as_of.steps import Step
from streams.replay.fold.fold import Row, visible_members
from streams.views.changes import MemoryStore, WriteBatch
from streams.views.keys import key, number_at_end
from streams.views.parse import QueryError
from topology.keys import split
from topology.saop import RTES_EVENTS, RTES_REJECTIONS, SAOP_TASKS

_NEEDED = ("session_id", "task_id")


def tasks(query: AsOfQuery) -> Rows:
    """Return the rows of all tasks of one name, one per protocol.  Raises QueryError."""
    missing = [name for name in _NEEDED if name not in query.ids]
    if missing:
        raise QueryError(missing[0], "as_of takes one task: session_id and task_id must be given")
    steps = _steps(query, query.ids["session_id"], query.ids["task_id"])
    return _task_rows(query, steps, query.until(steps))


def _task_rows(query: AsOfQuery, steps: list[Step], count: int) -> Rows:
    """Return the rows of tasks after so many of their events.  Raises Gone."""
    rows: Rows = {}
    for name in {FOLD.row_key(step.topic, step.value) for step in steps} - {None}:
        assert name is not None
        row = query.folded(FOLD, steps[:count], name)
        encoded = None if row is None else encode(FOLD.table.record, visible_members(row))
        rows[key("task", *split(name))] = encoded
    return rows


def task_with_events(query: AsOfQuery) -> Rows:
    """Return the rows of one task, and hide the events and refused transitions that came later."""
    events = _steps(query, query.ids["session_id"], query.ids["task_id"])
    refused = _refused(query, query.ids["session_id"], query.ids["task_id"])
    steps = list(merge(events, refused, key=lambda step: step.at))
    count = query.until(steps)
    later = dict.fromkeys(step.row for step in steps[count:])
    recorded = sum(step.topic is RTES_EVENTS for step in steps[:count])
    return later | _task_rows(query, events, recorded)


def _refused(query: AsOfQuery, session_id: str, task_id: str) -> list[Step]:
    """Return the rejected transitions of a task in the order of their partition."""
    steps = []
    for each in refused_transitions(query.view, session_id, task_id):
        fact = value_of(RTES_REJECTIONS, each.row)
        place = query.position_of(RTES_REJECTIONS, each.partition, each.offset)
        places = (place, *query.caused(fact["cause"]))
        steps.append(Step(fact["at"], places, RTES_REJECTIONS, fact, each.index_key))
    return steps


def session(query: AsOfQuery) -> Rows:
    """Count a session's rows again from all its events and rejections.  Raises QueryError."""
    if "session_id" not in query.ids:
        raise QueryError("session_id", "as_of takes one session: it must be given")
    session_id = query.ids["session_id"]
    events, refused = _events(query, session_id), _rejections(query, session_id)
    records = [step.value for step in events[: query.until(events)]]
    verdicts = [step.value["verdict"] for step in refused[: query.until(refused)]]
    rows = WriteBatch(MemoryStore())
    sessions.count_events(records, rows)
    sessions.count_rejections([(session_id, verdict) for verdict in verdicts], rows)
    tasks: dict[str, Row] = {}
    for record in records:
        name = FOLD.row_key(RTES_EVENTS, record)
        if name is not None:
            tasks[name] = evolve(tasks.get(name), record)
    for name, task in tasks.items():
        value = encode(FOLD.table.record, task)
        table_record = LogRecord(SAOP_TASKS.name, 0, 0, 0, name.encode(), value)
        sessions.note_task(table_record, task, rows)
    row_keys = (key("saop session", session_id), key("saop session tasks", session_id))
    return {row: rows.get(row) for row in row_keys}


def _events(query: AsOfQuery, session_id: str) -> list[Step]:
    """Return all events of the session, by sequence."""
    steps = []
    for row_key, row in query.view.scan(key("event", session_id)):
        record = value_of(RTES_EVENTS, row)
        caused = query.caused(record["cause"])
        steps.append(Step(record["recorded_at"], caused, RTES_EVENTS, record, row_key))
    return steps


def _rejections(query: AsOfQuery, session_id: str) -> list[Step]:
    """Return the session's rejections in the order of their partition."""
    steps = []
    for row_key, row in query.view.scan(key("rejection", session_id)):
        fact = value_of(RTES_REJECTIONS, row)
        fact_position = query.position_of(
            RTES_REJECTIONS, number_at_end(row_key[:-8]), number_at_end(row_key)
        )
        positions = (fact_position, *query.caused(fact["cause"]))
        steps.append(Step(fact["at"], positions, RTES_REJECTIONS, fact, row_key))
    return steps


def _steps(query: AsOfQuery, session_id: str, task_id: str) -> list[Step]:
    """Return the events that change a row of the task, by sequence."""
    steps = []
    for index_key, _ in query.view.scan(key("event of task", session_id, task_id)):
        row_key = key("event", session_id, number_at_end(index_key))
        (row,) = query.view.get_many([row_key])
        record = value_of(RTES_EVENTS, row)
        if FOLD.row_key(RTES_EVENTS, record) is not None:
            caused = query.caused(record["cause"])
            steps.append(Step(record["recorded_at"], caused, RTES_EVENTS, record, row_key))
    return steps
