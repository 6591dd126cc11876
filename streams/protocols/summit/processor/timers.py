"""A run's time ends, whoever notices first: its timer, or the next record about it.

A time that the caller gave is a budget, and the run has exceeded it; the service's own fails it.

Source: Summit 5.4 (overdue) and 5.5.
"""

from __future__ import annotations

from schemas.summit import rule_message, rules
from streams.engine.processor import Timer, Work
from streams.protocols.summit.processor import endings, events, inbox, scene
from streams.protocols.summit.processor.rulings import Ruling
from streams.protocols.summit.processor.runs import Run
from topology.machines.summit_run import RunEvent
from topology.summit import SUMMIT_RUNS_TABLE


def fire(timer: Timer, work: Work) -> None:
    """The timer of a run; one that has ended since has none."""
    row = work.rows(SUMMIT_RUNS_TABLE).get(timer.key)
    if row is None:
        return
    run = Run(row, scene.of_tick(timer, row, work))
    if run.open and endings.fires_at(row) == timer.due_ms:
        _time_out(run)


def catch_up(run: Run) -> None:
    """Let the run's time end if that was before the record at hand."""
    if not run.overdue:
        return
    own = run.scene
    run.scene = scene.of_overdue(own, run.row)
    _time_out(run)
    run.scene, run.before = own, run.state
    own.work.cause = own.cause


def _time_out(run: Run) -> None:
    row, budget = run.row, run.row["budget"]
    given = budget is not None and budget["seconds"] is not None
    rule = (rules.BUDGET_SECONDS if given else rules.RUN_TIMEOUT).code
    endings.end(run, RunEvent.OUT_OF_TIME if given else RunEvent.TIMEOUT, rule)
    inbox.stop(run)
    run.save()
    figures = {"dueAt": row["dueAt"], "elapsed_ms": endings.elapsed_ms(run)}
    ruling = Ruling("fired", rule, rule_message(rule), figures=figures, run=run)
    names = {"runId": run.run_id, "agentId": run.agent_id}
    events.write(run.run_id, "timer", ruling, run.scene, **names, **events.of_run(ruling))
