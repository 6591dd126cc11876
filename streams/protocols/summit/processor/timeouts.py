"""Timeouts of runs.

A run times out by its timer, or by the next record about it if that is decided first.  If the
caller set the time, the run has exceeded its budget; the service's default time fails it.

Source: Summit guide, 5.5.
"""

from __future__ import annotations

from schemas.summit import rule_message, rules
from streams.engine.processor import ProcessorContext, Timer
from streams.protocols.summit.processor import judging, runs, trees, verdicts
from streams.protocols.summit.processor.decision import overdue_context, timer_context
from streams.protocols.summit.processor.runs import Run
from streams.protocols.summit.processor.verdicts import Verdict
from topology.machines.summit_run import RunEvent
from topology.summit import SUMMIT_RUNS_TABLE


def fire_timer(timer: Timer, ctx: ProcessorContext) -> None:
    """Time out the run of a timer, unless it has ended or its due time differs."""
    row = ctx.rows(SUMMIT_RUNS_TABLE).get(timer.key)
    if row is None:
        return
    run = Run(row, timer_context(timer, row, ctx))
    if run.open and runs.fires_at(row) == timer.due_ms:
        _time_out(run)


def catch_up(run: Run) -> None:
    """Time out the run if it was due before the current record."""
    if not run.overdue:
        return
    ctx = run.ctx
    run.ctx = overdue_context(ctx, run.row)
    _time_out(run)
    run.ctx, run.before = ctx, run.state
    ctx.resume()


def _time_out(run: Run) -> None:
    row, budget = run.row, run.row["budget"]
    set_by_caller = budget is not None and budget["seconds"] is not None
    rule = (rules.BUDGET_SECONDS if set_by_caller else rules.RUN_TIMEOUT).code
    runs.end(run, RunEvent.OUT_OF_TIME if set_by_caller else RunEvent.TIMEOUT, rule)
    runs.deliver_stop(run)
    run.save()
    figures = {"dueAt": row["dueAt"], "elapsed_ms": runs.elapsed_ms(run)}
    verdict = Verdict("fired", rule, rule_message(rule), figures=figures, run=run)
    names = {"runId": run.run_id, "agentId": run.agent_id}
    verdicts.write_fact(
        run.run_id, "timer", verdict, run.ctx, **names, **verdicts.run_members(verdict)
    )
    judging.conclude(run)
    trees.settle(run)
