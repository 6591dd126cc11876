"""One run during one decision: its row, and how it moves.

Source: Summit 4.1 and 5.7.
"""

from __future__ import annotations

from typing import Any

from streams.engine.processor import AvroValue
from streams.protocols.summit.processor.scene import Scene
from topology.machine import step
from topology.machines.summit_run import MACHINE, REFUSED, REPEATED, RunEvent, RunState
from topology.summit import SUMMIT_RUNS_TABLE

NONE = "none"
"""The state of a run before its first."""
_TRANSITION = "headrace.rtes.TaskTransition"


class Run:
    """row: SummitRun, the caller's own.  before: the state when the decision began."""

    def __init__(self, row: AvroValue, scene: Scene) -> None:
        self.row = row
        self.scene = scene
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
        return self.open and self.scene.at > self.row["dueAt"]

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
        row["updatedAt"] = self.scene.at
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
        self.scene.report(self.session_id, _TRANSITION, transition)

    def save(self) -> None:
        self.scene.work.rows(SUMMIT_RUNS_TABLE).put(self.run_id, self.row)


def find(run_id: str, scene: Scene) -> Run | None:
    """The run of this id, if a call made it."""
    row = scene.work.rows(SUMMIT_RUNS_TABLE).get(run_id)
    return None if row is None else Run(row, scene)


def repeated(run: Run, event: RunEvent) -> str | None:
    """The rule by which an event repeats what was done before, where it does."""
    rule = REPEATED.get((RunState(run.state), event))
    return None if rule is None else rule.code


def refused(run: Run, event: RunEvent) -> str | None:
    """The rule by which the run's state refuses an event, where it does."""
    rule = REFUSED.get((RunState(run.state), event))
    return None if rule is None else rule.code
