"""The one end of a run, and what goes with it.

Its timer is gone, its error and the provenance that it is owed are on the row, and RTES hears of
the move, and of the tool that a tool run was.

Source: Summit 2.5, 5.4 to 5.6.
"""

from __future__ import annotations

from schemas import summit
from schemas.summit import RunError, rules
from schemas.summit.words import COMPLETED
from streams.engine.processor import AvroValue
from streams.protocols.summit.processor.rulings import Errors
from streams.protocols.summit.processor.runs import Run
from topology.keys import composite
from topology.machines.summit_run import RunEvent

TIMER = "summit.run-timeout"
"""The timer of an open run."""
_UNKNOWN = "unknown"
"""The model of a run whose agent named none."""
_COMPLETED = "headrace.rtes.ToolCompleted"
_TIMES = frozenset({rules.RUN_TIMEOUT.code, rules.BUDGET_SECONDS.code})


def fires_at(row: AvroValue) -> int:
    """Ms: one later than the last that is in time.  row: SummitRun."""
    due_at: int = row["dueAt"]
    return due_at + 1


def arm(run: Run) -> None:
    run.scene.set_timer(fires_at(run.row), TIMER, run.run_id)


def end(
    run: Run,
    event: RunEvent,
    rule: str,
    *,
    path: str | None = None,
    errors: Errors = (),
    agent_error: summit.JsonObject | None = None,
) -> None:
    """Take the step that ends a run.

    path, errors: of what broke the rule.  agent_error: what the agent says, a RunError; under the
    rule `reply.error` it is the run's own.
    """
    row, scene = run.row, run.scene
    run.move(event, rule)
    row["finishedAt"] = scene.at
    scene.work.delete_timer(fires_at(row), TIMER, run.run_id)
    if row["provenance"] is None:
        row["provenance"] = {"model": _UNKNOWN, "timestamp": scene.time, "extra_json": None}
    if run.state != COMPLETED:
        said = rule == rules.REPLY_ERROR.code
        error = agent_error if said else _error(rule, path, errors, agent_error)
        row["error"] = RunError.from_json(error).to_avro()
    if run.kind == "tool":
        _report_tool(run, rule)


def elapsed_ms(run: Run) -> int:
    """From the call's record to what the decision rests on; 0 where a sender's clock is behind."""
    created_at: int = run.row["createdAt"]
    return max(0, run.scene.at - created_at)


def _error(
    rule: str, path: str | None, errors: Errors, agent_error: summit.JsonObject | None
) -> summit.JsonObject:
    return summit.run_error(rule, path=path, errors=errors, agent_error=agent_error)


def _report_tool(run: Run, rule: str) -> None:
    row = run.row
    ended = "timeout" if rule in _TIMES else "failure"
    payload = {
        "call_id": call_id(row),
        "tool": row["toolName"],
        "status": "success" if run.state == COMPLETED else ended,
        "duration_ms": float(elapsed_ms(run)),
    }
    run.scene.report(run.session_id, _COMPLETED, payload)


def call_id(row: AvroValue) -> str:
    """How RTES names the tool call of a tool run.  row: SummitRun."""
    return composite(row["runId"], row["toolCallId"])
