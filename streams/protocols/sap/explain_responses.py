"""The response model of the explanation of a task's decisions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from streams.gateway.responses import Count, Json, Position, ResponseModel, Time, record_schema

CheckRow = Annotated[dict[str, Any], record_schema("headrace.sap.SapCheck")]
ViolationRow = Annotated[dict[str, Any], record_schema("headrace.sap.SapViolation")]
AcceptedRow = Annotated[dict[str, Any], record_schema("headrace.sap.SapAccepted")]


class SapExplainedCheck(ResponseModel):
    check: str
    outcome: Literal["passed", "not reached"]


class SapDecidingCheck(ResponseModel):
    """The check that decided."""

    check: str
    outcome: Literal["passed", "failed"]
    rule: str
    reason: str | None
    figures: Json
    errors: Json


class SapEvaluation(ResponseModel):
    """The evaluation again, by the constitution of this process.

    constitution: the one of the decision.
    """

    constitution: str
    alignment: str
    combined: str
    steps: list[Json]
    policyChecks: list[CheckRow]
    violations: list[ViolationRow]


class SapExplainedCommand(ResponseModel):
    position: Position
    subject: Literal["TASK", "RESULT", "SIGNAL"]
    at: Time
    verdict: Literal["accepted", "duplicate", "rejected"]
    rule: str
    reason: str | None
    checks: list[SapDecidingCheck | SapExplainedCheck]
    warnings: list[str]


class SapAcceptedCommand(SapExplainedCommand):
    """An accepted command that is still on the log."""

    accepted: AcceptedRow | None
    evaluation: SapEvaluation | None


class SapExplainedCandidate(ResponseModel):
    """A version that could have answered.  alignment: null if it was not evaluated."""

    version: Count
    ageSec: Count
    fresh: bool
    alignment: str | None


class SapExplainedLookup(ResponseModel):
    at: Time
    verdict: str
    reason: str
    leader: bool
    leaderTaskId: str | None
    waitUntil: Time | None
    version: Count | None
    ageSec: Count | None
    candidates: list[SapExplainedCandidate]
    checks: list[CheckRow] | None
    violations: list[ViolationRow] | None


class SapExplainedOutcome(ResponseModel):
    seq: Count
    rule: str
    cause: str
    status: str
    alignment: str
    error: Json
    cache: Json


class SapExplanation(ResponseModel):
    """The decisions on a task.  constitution: by which `evaluation` evaluates again."""

    taskId: str
    state: str | None
    constitution: str
    commands: list[SapAcceptedCommand | SapExplainedCommand]
    lookups: list[SapExplainedLookup]
    outcomes: list[SapExplainedOutcome]
