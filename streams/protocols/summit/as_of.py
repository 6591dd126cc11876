"""The as-of query of a run: its row, its inputs, its output and the facts about it."""

from __future__ import annotations

from schemas import encode
from schemas.summit.words import COMPLETED
from streams.protocols.summit.fold import FOLD
from streams.protocols.summit.queries.rows import (
    input_key,
    output_key,
    run_events,
    run_key,
    totals_key,
)
from streams.protocols.summit.queries.runs import HIDDEN
from streams.replay.as_of.overlay import Rows
from streams.replay.as_of.query import AsOfQuery, value_of
from streams.replay.as_of.steps import Step
from streams.views.keys import number_at_end
from topology.summit import SUMMIT_EVENTS, SUMMIT_RUNS


def run(query: AsOfQuery) -> Rows:
    """Return the rows of a run as they were at a past moment; None hides a row."""
    run_id = query.ids["runId"]
    row_key = run_key(run_id)
    steps = _steps(query, run_id)
    before = steps[: query.until(steps)]
    hidden: Rows = dict.fromkeys(step.row for step in steps[len(before) :])
    query.fetch([s.value["cause"] for s in before if FOLD.row_key(s.topic, s.value) == run_id])
    row = query.folded(FOLD, before, run_id)
    if row is None:
        return hidden | {row_key: None, input_key(run_id): None, output_key(run_id): None}
    (now,) = query.view.get_many([row_key])
    if now is not None:  # the one member that is in no fact, and that never changes
        known = value_of(SUMMIT_RUNS, now)["evidence"]["manifestPosition"]
        row["evidence"] = {**row["evidence"], "manifestPosition": known}
    if row["state"] != COMPLETED:
        hidden[output_key(run_id)] = None
    had_tree = any(step.value["treeUsd"] is not None for step in before)
    totals = HIDDEN if had_tree else None  # a run alone shows what it had spent itself
    return hidden | {row_key: encode(FOLD.table.record, row), totals_key(run_id): totals}


def _steps(query: AsOfQuery, run_id: str) -> list[Step]:
    """Return the steps of a run in the order of their partition.

    The cause of a timer's fact is the call's position, and its time is that at which the run was
    due; the timer fires after it.
    """
    steps: list[Step] = []
    call = ""
    for index_key, row_key in query.view.scan(run_events(run_id)):
        (row,) = query.view.get_many([row_key])
        fact = value_of(SUMMIT_EVENTS, row)
        partition, offset = number_at_end(index_key[:-8]), number_at_end(index_key)
        if fact["inputs_json"] is not None:
            call = fact["cause"]
        is_timer = fact["subject"] == "timer" and fact["cause"] == call
        cause = () if is_timer else query.caused(fact["cause"])
        positions = (query.position_of(SUMMIT_EVENTS, partition, offset), *cause)
        steps.append(Step(fact["at"] + is_timer, positions, SUMMIT_EVENTS, fact, index_key))
    return steps
