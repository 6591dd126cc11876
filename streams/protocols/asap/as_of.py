"""A task of ASAP, its response and its events, as long as the events are kept."""

from __future__ import annotations

from schemas import encode
from streams.protocols.asap.fold import FOLD
from streams.protocols.asap.queries.rows import response_key, task_row_key
from streams.protocols.asap.queries.states import check_events_available
from streams.protocols.asap.queries.tasks import task_of
from streams.replay.as_of.overlay import Rows
from streams.replay.as_of.query import AsOfQuery, value_of
from streams.replay.as_of.steps import Step
from streams.replay.fold.fold import visible_members
from streams.views.keys import key, text_key
from topology.asap import ASAP_EVENTS
from topology.keys import composite

_RESPONSE = "response_recorded"


def task(query: AsOfQuery) -> Rows:
    """Return the rows of a task at that time.  Raises Gone when the task's events have expired."""
    name = query.ids["id"]
    now = task_of(query.view, name)
    if now is None:
        return {}
    check_events_available(now)
    task_id: str = now["task_id"]
    steps = _event_steps(query, task_id)
    count = query.until(steps)
    rows: Rows = dict.fromkeys(step.row for step in steps[count:])
    row = query.folded(FOLD, steps[:count], composite(task_id))
    if row is not None and name in now["aliases"] and name not in row["aliases"]:
        row = None  # it did not have this alias yet
    if not any(step.value["rule"] == _RESPONSE for step in steps[:count]):
        rows[response_key(task_id)] = None
    encoded = None if row is None else encode(FOLD.table.record, visible_members(row))
    return rows | {task_row_key(task_id): encoded}


def _event_steps(query: AsOfQuery, task_id: str) -> list[Step]:
    """Return the task's events by sequence."""
    steps = []
    for event_key, fact_key in query.view.scan(key("asap event") + text_key(task_id)):
        (row,) = query.view.get_many([fact_key])
        fact = value_of(ASAP_EVENTS, row)
        steps.append(Step(fact["at"], query.caused(fact["cause"]), ASAP_EVENTS, fact, event_key))
    return steps
