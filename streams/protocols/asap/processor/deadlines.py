"""The timers of tasks: a task fails at its timeout, and its events expire some time after its end.

A record may be decided before a timer that was due earlier, so every handler compares times and
applies what is overdue first, as the timer would have, with the timer as the cause.

Source: ASAP guide, 4.5 and 5.4.
"""

from __future__ import annotations

from schemas.asap import rules
from streams.engine.processor import ProcessorContext, Timer
from streams.protocols.asap.processor import snapshots, verdicts
from streams.protocols.asap.processor.decision import due_context, timer_context
from streams.protocols.asap.processor.task import TASK, TaskAggregate, find_task, send_failed
from topology import next_status
from topology.machines.asap_task import TaskEvent

_TIMEOUT_RULE, _EXPIRED_RULE = "task_timeout", "events_expired"


def catch_up(task: TaskAggregate) -> None:
    """Time the task out if it was due before the current record."""
    ctx, due_ms = task.ctx, task.row["timeout_at"]
    if task.terminal or ctx.at <= due_ms:
        return
    ctx.work.delete_timer(due_ms, TASK, task.task_id)
    _time_out(TaskAggregate(task.row, due_context(ctx.work, due_ms, TASK, task.task_id)))
    ctx.resume()


def time_out_due(timer: Timer, ctx: ProcessorContext) -> None:
    """Time out a task that has not ended."""
    task = find_task(timer.key, timer_context(timer, ctx))
    if task is not None and not task.terminal and task.row["timeout_at"] == timer.due_ms:
        _time_out(task)


def expire_events(timer: Timer, ctx: ProcessorContext) -> None:
    """Expire the events of an event-sourced task, and save its last state as a snapshot."""
    task = find_task(timer.key, timer_context(timer, ctx))
    if task is None or not task.row["events_available"]:
        return
    row, last = task.row, task.row["sequence"]
    snapshots.close_history(task)
    row["events_available"] = False
    task.save()
    verdicts.fact(
        task.ctx,
        task.task_id,
        "expired",
        _EXPIRED_RULE,
        detail="The events of the task have been kept for as long as it asked.",
        figures={"event_retention_hours": row["event_retention_hours"], "last_sequence": last},
        task_id=task.task_id,
        conversation_id=row["conversation_id"],
        trace_id=row["trace_id"],
        status=row["status"],
        snapshot_version=task.snapshot_version,
    )


def _time_out(task: TaskAggregate) -> None:
    row = task.row
    before, code = task.status, rules.ASAP_ERRORS[_TIMEOUT_RULE]
    detail = f"The task was {before} when its time was over."
    task.move(next_status(before, TaskEvent.TIME_OUT).value)
    row["error_code"] = code
    send_failed(task, code, detail)
    verdicts.fact(
        task.ctx,
        task.task_id,
        "timeout",
        _TIMEOUT_RULE,
        asap_error=code,
        detail=detail,
        figures={"status": before, "timeout_at": row["timeout_at"]},
        task_id=task.task_id,
        conversation_id=row["conversation_id"],
        trace_id=row["trace_id"],
        began=task.began,
        **verdicts.advance(task),
    )
