"""A run during one decision: its row, its transitions, its end, and the records for its agent.

A run ends once.  At its end the timer is deleted, the error and the provenance are set in the row,
and RTES receives the transition; for a tool run also the completion of the tool.

Source: Summit guide, 2.3, 2.5, 4.1 and 5.2 to 5.7.
"""

from __future__ import annotations

from typing import Any

from schemas import summit
from schemas.summit import RunError, rules
from schemas.summit.words import COMPLETED
from streams.engine.processor import AvroValue
from streams.protocols.summit.processor.decision import DecisionContext
from streams.protocols.summit.processor.verdicts import Errors
from topology.keys import composite
from topology.machine import step
from topology.machines.summit_run import MACHINE, REFUSED, REPEATED, RunEvent, RunState
from topology.summit import SUMMIT_INBOX, SUMMIT_RUNS_TABLE

NO_STATE = "none"
"""The state of a run before its first."""
TIMER = "summit.run-timeout"
"""The timer of an open run."""
_UNKNOWN_MODEL = "unknown"
"""The model of a run whose agent reported none."""
_TOOL_COMPLETED = "headrace.rtes.ToolCompleted"
_TIMEOUT_RULES = frozenset({rules.RUN_TIMEOUT.code, rules.BUDGET_SECONDS.code})
_TASK_TRANSITION = "headrace.rtes.TaskTransition"


class Run:
    """A run in one decision.

    row: SummitRun, which the decision may change.  before: the state when the decision began.
    metrics_before, ended_before: what the runs above know of it.
    """

    def __init__(self, row: AvroValue, ctx: DecisionContext) -> None:
        self.row = row
        self.ctx = ctx
        self.before: str = row["state"]
        self.metrics_before: AvroValue = row["metrics"]
        self.ended_before = not self.open

    @property
    def run_id(self) -> str:
        run_id: str = self.row["runId"]
        return run_id

    @property
    def agent_id(self) -> str:
        agent_id: str = self.row["agentId"]
        return agent_id

    @property
    def kind(self) -> str:
        """Return `invoke` or `tool`."""
        kind: str = self.row["kind"]
        return kind

    @property
    def state(self) -> str:
        state: str = self.row["state"]
        return state

    @property
    def open(self) -> bool:
        return self.state not in MACHINE.terminal

    @property
    def overdue(self) -> bool:
        """Return whether the run was due before the current record."""
        return self.open and self.ctx.at > self.row["dueAt"]

    @property
    def evidence(self) -> AvroValue:
        evidence: AvroValue = self.row["evidence"]
        return evidence

    @property
    def session_id(self) -> str:
        """Return the RTES grouping id (Summit guide, 1)."""
        session_id: str = self.row["traceId"] or self.run_id
        return session_id

    @property
    def contract(self) -> dict[str, str]:
        """Return the manifest that the run must satisfy, as members of a fact."""
        evidence = self.evidence
        return {name: evidence[name] for name in ("manifestVersion", "manifestHash")}

    def move(self, event: RunEvent, rule: str) -> None:
        """Make one transition, and send it to RTES if the state changes.

        rule: the reason of the change.
        """
        before, target = self.state, step(MACHINE, self.state, event)
        assert target is not None, f"{event} is no event of a run that is {before}"
        row = self.row
        row["version"] += 1
        row["updatedAt"] = self.ctx.at
        if before != target:
            row["state"] = target.value
            row["reason"] = rule
            self.report(before, target.value)

    def report(self, before: str, after: str) -> None:
        transition: dict[str, Any] = {
            "task_id": self.run_id,
            "from_state": before,
            "to_state": after,
            "git_hash": None,
        }
        self.ctx.emit_event(self.session_id, _TASK_TRANSITION, transition)

    def save(self) -> None:
        self.ctx.work.rows(SUMMIT_RUNS_TABLE).put(self.run_id, self.row)


def find_run(run_id: str, ctx: DecisionContext) -> Run | None:
    """Return the run with this id, None if no call made it."""
    row = ctx.work.rows(SUMMIT_RUNS_TABLE).get(run_id)
    return None if row is None else Run(row, ctx)


def repeating_rule(run: Run, event: RunEvent) -> str | None:
    """Return the rule for an event that repeats an earlier one, else None."""
    rule = REPEATED.get((RunState(run.state), event))
    return None if rule is None else rule.code


def refusing_rule(run: Run, event: RunEvent) -> str | None:
    """Return the rule by which the run's state refuses an event, else None."""
    rule = REFUSED.get((RunState(run.state), event))
    return None if rule is None else rule.code


def fires_at(row: AvroValue) -> int:
    """Return when the timer of a run fires, in ms: one after the last moment that is in time.

    row: SummitRun.
    """
    due_at: int = row["dueAt"]
    return due_at + 1


def set_timer(run: Run) -> None:
    """Set the timer that ends the run when its time is over."""
    run.ctx.set_timer(fires_at(run.row), TIMER, run.run_id)


def end(
    run: Run,
    event: RunEvent,
    rule: str,
    *,
    path: str | None = None,
    errors: Errors = (),
    agent_error: summit.JsonObject | None = None,
    origin_run: str | None = None,
) -> None:
    """Make the transition that ends a run.

    path, errors: the violation of the rule.  agent_error: the RunError that the agent sent; under
    the rule `reply.error` it becomes the run's.  origin_run: of a rule about trees, the run whose
    figures broke it, or whose end stops this one.
    """
    row, ctx = run.row, run.ctx
    run.move(event, rule)
    row["finishedAt"] = ctx.at
    ctx.work.delete_timer(fires_at(row), TIMER, run.run_id)
    if row["provenance"] is None:
        row["provenance"] = {"model": _UNKNOWN_MODEL, "timestamp": ctx.time, "extra_json": None}
    if run.state != COMPLETED:
        if rule != rules.REPLY_ERROR.code:
            agent_error = summit.run_error(
                rule, path=path, errors=errors, agent_error=agent_error, origin_run=origin_run
            )
        row["error"] = RunError.from_json(agent_error).to_avro()
    if run.kind == "tool":
        _report_tool(run, rule)


def elapsed_ms(run: Run) -> int:
    """Return the time from the call's record to the decision; 0 if a sender's clock is behind."""
    created_at: int = run.row["createdAt"]
    return max(0, run.ctx.at - created_at)


def _report_tool(run: Run, rule: str) -> None:
    row = run.row
    failure_status = "timeout" if rule in _TIMEOUT_RULES else "failure"
    payload = {
        "call_id": call_id(row),
        "tool": row["toolName"],
        "status": "success" if run.state == COMPLETED else failure_status,
        "duration_ms": float(elapsed_ms(run)),
    }
    run.ctx.emit_event(run.session_id, _TOOL_COMPLETED, payload)


def call_id(row: AvroValue) -> str:
    """Return the id of a tool run's call in RTES.

    row: SummitRun.
    """
    return composite(row["runId"], row["toolCallId"])


def deliver_call(run: Run, call: AvroValue) -> None:
    """Send the call that made a run to the agent's inbox.

    call: SummitCall with effective inputs.
    """
    _send_to_inbox(run, {**call, "delivery": _delivery(run, run.kind)}, run.run_id)


def deliver_stop(run: Run) -> None:
    """Send the agent a cancel, since its run ended without its final reply."""
    cancel = run.row["cancel"]
    params = {
        "runId": run.run_id,
        "agentId": run.agent_id,
        "reason": None if cancel is None else cancel["reason"],
    }
    call = {
        "jsonrpc": "2.0",
        "id": None,
        "method": "agent.cancel",
        "params": ("headrace.summit.CancelParams", params),
        "caller": None,
        "delivery": _delivery(run, "stop", run.row["reason"]),
    }
    _send_to_inbox(run, call, f"{run.run_id}/stop")


def _delivery(run: Run, kind: str, reason: str | None = None) -> dict[str, Any]:
    evidence = run.evidence
    return {
        "kind": kind,
        "agentVersion": evidence["manifestVersion"],
        "manifestHash": evidence["manifestHash"],
        "callPosition": evidence["callPosition"],
        "dueAt": run.row["dueAt"],
        "reason": reason,
    }


def _send_to_inbox(run: Run, call: AvroValue, id: str) -> None:
    run.ctx.send(SUMMIT_INBOX, run.agent_id, call, id)
