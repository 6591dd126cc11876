"""A task whose time is over fails, and the events of an ended one are kept for a while only.

A record may be decided before the timer that was due before it, so every judge compares times and
lets what is overdue happen first: as the timer would have done it, under the timer's own name.

Source: ASAP spec, 4.5 and 5.4.
"""

from __future__ import annotations

from schemas.asap import rules
from streams.engine.processor import ProcessorContext, Timer
from streams.protocols.asap.processor import snapshots, verdicts
from streams.protocols.asap.processor.decision import due_context, timer_context
from streams.protocols.asap.processor.task import TASK, TaskAggregate, find_task, send_failed
from topology import next_status
from topology.machines.asap_task import TaskEvent

_TIMEOUT, _EXPIRED = "task_timeout", "events_expired"


def catch_up(task: TaskAggregate) -> None:
    """Let the task's time end if that was before the record at hand."""
    own, due_ms = task.ctx, task.row["timeout_at"]
    if task.terminal or own.at <= due_ms:
        return
    own.work.delete_timer(due_ms, TASK, task.task_id)
    _time_out(TaskAggregate(task.row, due_context(own.work, due_ms, TASK, task.task_id)))
    own.work.cause = own.cause


def fire(timer: Timer, work: ProcessorContext) -> None:
    """The timer of a task."""
    task = find_task(timer.key, timer_context(timer, work))
    if task is not None and not task.terminal and task.row["timeout_at"] == timer.due_ms:
        _time_out(task)


def expire_events(timer: Timer, work: ProcessorContext) -> None:
    """The end of what an event-sourced task's events are kept for."""
    task = find_task(timer.key, timer_context(timer, work))
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
        _EXPIRED,
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
    before, code = task.status, rules.ASAP_ERRORS[_TIMEOUT]
    detail = f"The task was {before} when its time was over."
    task.move(next_status(before, TaskEvent.TIME_OUT).value)
    row["error_code"] = code
    send_failed(task, code, detail)
    verdicts.fact(
        task.ctx,
        task.task_id,
        "timeout",
        _TIMEOUT,
        asap_error=code,
        detail=detail,
        figures={"status": before, "timeout_at": row["timeout_at"]},
        task_id=task.task_id,
        conversation_id=row["conversation_id"],
        trace_id=row["trace_id"],
        **verdicts.advance(task),
    )
