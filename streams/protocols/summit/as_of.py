"""A run, its inputs, its output and the facts about it."""

from __future__ import annotations

from schemas import encode
from schemas.summit.words import COMPLETED
from streams.protocols.summit.fold import FOLD
from streams.protocols.summit.queries.rows import input_key, output_key, run_events, run_key
from streams.replay.as_of.overlay import Rows
from streams.replay.as_of.query import AsOfQuery, value_of
from streams.replay.as_of.steps import Step
from streams.views.keys import number_at_end
from topology.summit import SUMMIT_EVENTS, SUMMIT_RUNS


def run(looking: AsOfQuery) -> Rows:
    run_id = looking.ids["runId"]
    own = run_key(run_id)
    steps = _steps(looking, run_id)
    before = steps[: looking.until(steps)]
    hidden: Rows = dict.fromkeys(step.row for step in steps[len(before) :])
    looking.fetch([s.value["cause"] for s in before if FOLD.row_key(s.topic, s.value) == run_id])
    row = looking.folded(FOLD, before, run_id)
    if row is None:
        return hidden | {own: None, input_key(run_id): None, output_key(run_id): None}
    (now,) = looking.view.get_many([own])
    if now is not None:  # the one member that no fact tells, and that never changes
        known = value_of(SUMMIT_RUNS, now)["evidence"]["manifestPosition"]
        row["evidence"] = {**row["evidence"], "manifestPosition": known}
    if row["state"] != COMPLETED:
        hidden[output_key(run_id)] = None
    return hidden | {own: encode(FOLD.table.record, row)}


def _steps(looking: AsOfQuery, run_id: str) -> list[Step]:
    """In the order of their partition.

    A timer's fact has the call's position for its cause, and is dated when the run's time was over;
    it fires behind that.
    """
    found: list[Step] = []
    call = ""
    for place, own in looking.view.scan(run_events(run_id)):
        (row,) = looking.view.get_many([own])
        fact = value_of(SUMMIT_EVENTS, row)
        partition, offset = number_at_end(place[:-8]), number_at_end(place)
        if fact["inputs_json"] is not None:
            call = fact["cause"]
        ticked = fact["subject"] == "timer" and fact["cause"] == call
        cause = () if ticked else looking.caused(fact["cause"])
        places = (looking.place(SUMMIT_EVENTS, partition, offset), *cause)
        found.append(Step(fact["at"] + ticked, places, SUMMIT_EVENTS, fact, place))
    return found
