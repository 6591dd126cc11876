"""One run during one decision: its row, how it moves, how it ends, and what its agent is to read.

A run ends once.  Its timer is gone then, its error and the provenance that it is owed are on the
row, and RTES hears of the move, and of the tool that a tool run was.

Its time ends, whoever notices first: its timer, or the next record about it.  A time that the
caller gave is a budget, and the run has exceeded it; the service's own fails it.

Source: Summit 2.3, 2.5, 4.1 and 5.2 to 5.7.
"""

from __future__ import annotations

from typing import Any

from schemas import summit
from schemas.summit import RunError, rule_message, rules
from schemas.summit.words import COMPLETED
from streams.engine.processor import AvroValue, ProcessorContext, Timer
from streams.protocols.summit.processor import verdicts
from streams.protocols.summit.processor.decision import (
    DecisionContext,
    overdue_context,
    timer_context,
)
from streams.protocols.summit.processor.verdicts import Errors, Verdict
from topology.keys import composite
from topology.machine import step
from topology.machines.summit_run import MACHINE, REFUSED, REPEATED, RunEvent, RunState
from topology.summit import SUMMIT_INBOX, SUMMIT_RUNS_TABLE

NO_STATE = "none"
"""The state of a run before its first."""
TIMER = "summit.run-timeout"
"""The timer of an open run."""
_UNKNOWN = "unknown"
"""The model of a run whose agent named none."""
_COMPLETED = "headrace.rtes.ToolCompleted"
_TIMES = frozenset({rules.RUN_TIMEOUT.code, rules.BUDGET_SECONDS.code})
_TRANSITION = "headrace.rtes.TaskTransition"


class Run:
    """row: SummitRun, the caller's own.  before: the state when the decision began."""

    def __init__(self, row: AvroValue, ctx: DecisionContext) -> None:
        self.row = row
        self.ctx = ctx
        self.before: str = row["state"]

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
        """`invoke` or `tool`."""
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
        """Whether its time was over before the record at hand."""
        return self.open and self.ctx.at > self.row["dueAt"]

    @property
    def evidence(self) -> AvroValue:
        evidence: AvroValue = self.row["evidence"]
        return evidence

    @property
    def session_id(self) -> str:
        """The RTES grouping id (Summit 1)."""
        session_id: str = self.row["traceId"] or self.run_id
        return session_id

    @property
    def contract(self) -> dict[str, str]:
        """The manifest that the run is held to, as a fact names it."""
        evidence = self.evidence
        return {name: evidence[name] for name in ("manifestVersion", "manifestHash")}

    def move(self, event: RunEvent, rule: str) -> None:
        """Take one step.  rule: why the state changes, if it does; then RTES hears of it."""
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
        self.ctx.report(self.session_id, _TRANSITION, transition)

    def save(self) -> None:
        self.ctx.work.rows(SUMMIT_RUNS_TABLE).put(self.run_id, self.row)


def find_run(run_id: str, ctx: DecisionContext) -> Run | None:
    """The run of this id, if a call made it."""
    row = ctx.work.rows(SUMMIT_RUNS_TABLE).get(run_id)
    return None if row is None else Run(row, ctx)


def repeating_rule(run: Run, event: RunEvent) -> str | None:
    """The rule by which an event repeats what was done before, where it does."""
    rule = REPEATED.get((RunState(run.state), event))
    return None if rule is None else rule.code


def refusing_rule(run: Run, event: RunEvent) -> str | None:
    """The rule by which the run's state refuses an event, where it does."""
    rule = REFUSED.get((RunState(run.state), event))
    return None if rule is None else rule.code


def fires_at(row: AvroValue) -> int:
    """Ms: one later than the last that is in time.  row: SummitRun."""
    due_at: int = row["dueAt"]
    return due_at + 1


def set_timer(run: Run) -> None:
    """Set the timer that ends a run whose time is over."""
    run.ctx.set_timer(fires_at(run.row), TIMER, run.run_id)


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
    row, ctx = run.row, run.ctx
    run.move(event, rule)
    row["finishedAt"] = ctx.at
    ctx.work.delete_timer(fires_at(row), TIMER, run.run_id)
    if row["provenance"] is None:
        row["provenance"] = {"model": _UNKNOWN, "timestamp": ctx.time, "extra_json": None}
    if run.state != COMPLETED:
        if rule != rules.REPLY_ERROR.code:
            agent_error = summit.run_error(rule, path=path, errors=errors, agent_error=agent_error)
        row["error"] = RunError.from_json(agent_error).to_avro()
    if run.kind == "tool":
        _report_tool(run, rule)


def elapsed_ms(run: Run) -> int:
    """From the call's record to what the decision rests on; 0 where a sender's clock is behind."""
    created_at: int = run.row["createdAt"]
    return max(0, run.ctx.at - created_at)


def _report_tool(run: Run, rule: str) -> None:
    row = run.row
    ended = "timeout" if rule in _TIMES else "failure"
    payload = {
        "call_id": call_id(row),
        "tool": row["toolName"],
        "status": "success" if run.state == COMPLETED else ended,
        "duration_ms": float(elapsed_ms(run)),
    }
    run.ctx.report(run.session_id, _COMPLETED, payload)


def call_id(row: AvroValue) -> str:
    """How RTES names the tool call of a tool run.  row: SummitRun."""
    return composite(row["runId"], row["toolCallId"])


def deliver_call(run: Run, call: AvroValue) -> None:
    """Let the agent read the call that made a run.  call: SummitCall with effective inputs."""
    _send_to_inbox(run, {**call, "delivery": _delivery(run, run.kind)}, run.run_id)


def deliver_stop(run: Run) -> None:
    """Tell the agent that its run has ended without it."""
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


def fire_timer(timer: Timer, work: ProcessorContext) -> None:
    """The timer of a run; one that has ended since has none."""
    row = work.rows(SUMMIT_RUNS_TABLE).get(timer.key)
    if row is None:
        return
    run = Run(row, timer_context(timer, row, work))
    if run.open and fires_at(row) == timer.due_ms:
        _time_out(run)


def catch_up(run: Run) -> None:
    """Let the run's time end if that was before the record at hand."""
    if not run.overdue:
        return
    own = run.ctx
    run.ctx = overdue_context(own, run.row)
    _time_out(run)
    run.ctx, run.before = own, run.state
    own.work.cause = own.cause


def _time_out(run: Run) -> None:
    row, budget = run.row, run.row["budget"]
    given = budget is not None and budget["seconds"] is not None
    rule = (rules.BUDGET_SECONDS if given else rules.RUN_TIMEOUT).code
    end(run, RunEvent.OUT_OF_TIME if given else RunEvent.TIMEOUT, rule)
    deliver_stop(run)
    run.save()
    figures = {"dueAt": row["dueAt"], "elapsed_ms": elapsed_ms(run)}
    verdict = Verdict("fired", rule, rule_message(rule), figures=figures, run=run)
    names = {"runId": run.run_id, "agentId": run.agent_id}
    verdicts.write_fact(
        run.run_id, "timer", verdict, run.ctx, **names, **verdicts.run_members(verdict)
    )
