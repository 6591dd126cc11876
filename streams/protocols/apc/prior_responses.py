"""Answers about the priors of strategies (APC guide, 5.10 and 6.2)."""

from __future__ import annotations

from random import Random
from typing import Annotated, Literal

from pydantic import Field

from streams.gateway.responses import Count, ResponseModel, Share, Time

DecimalText = Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)?$")]


class Prior(ResponseModel):
    """Describe what is known of a strategy in a use case.

    alpha, beta: of the Beta distribution of its outcome, exact.  mean, sd: of that distribution.
    """

    use_case: str
    kind: Literal["method", "protocol"]
    strategy: str
    attempts: Count
    outcome_sum_nano: Count
    gates_met: Count
    drift_weight: Count
    drift_sum_nano: Count
    last_at: Time
    version: Count
    alpha: DecimalText
    beta: DecimalText
    mean: Share
    sd: Share

    def sample(self, rng: Random) -> float:
        """Return an outcome that the strategy may have: the largest of several is to be tried."""
        return rng.betavariate(float(self.alpha), float(self.beta))


class Priors(ResponseModel):
    items: list[Prior]
    next: str | None


class PriorTask(ResponseModel):
    """One attempt of a strategy.

    outcome, drift_risk: the means of the task's EVALs.  gates_met: whether the newest met them.
    evals, packets: the ids of these EVALs, and of the packets that tried the strategy.
    explain: the path that explains the newest EVAL.
    """

    session_id: str
    run_id: str
    task_id: str
    outcome: Share
    drift_risk: Share | None
    gates_met: bool
    evals: list[str]
    packets: list[str]
    explain: str


class PriorExplanation(ResponseModel):
    prior: Prior
    tasks: list[PriorTask]
    next: str | None
