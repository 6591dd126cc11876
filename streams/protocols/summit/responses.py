"""The responses about runs and agents of Summit, and about sent records (Summit guide, 6.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from streams.gateway.responses import (
    Count,
    Extended,
    Json,
    Page,
    Position,
    ResponseModel,
    ResponseShape,
    Row,
    record_schema,
)
from topology.summit import SUMMIT_AGENTS, SUMMIT_EVENTS, SUMMIT_RUNS

Status = Literal["queued", "running", "completed", "failed", "cancelled", "budget_exceeded"]
EventRow = Annotated[dict[str, Any], record_schema("headrace.summit.SummitEvent")]
ListedRunRow = Annotated[dict[str, Any], record_schema("SummitListedRun")]
Dollars = Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]{9}$")]
_RUN = SUMMIT_RUNS.record or ""


class SummitVerdicts(ResponseModel):
    """The positions of the records on the log, in the order sent, and the verdict on each."""

    positions: list[Position]
    verdicts: list[EventRow]


class ListedRun(ResponseModel):
    status: Status


class SummitTreeTotals(ResponseModel):
    """What a run and the runs below it have spent.

    usd: dollars, to nine decimals.  runs: the run itself included.  open: below it, not ended.
    """

    usd: Dollars
    tokens: Count
    runs: Count
    open: Count


class WholeRun(ListedRun):
    """A run with its inputs and output.

    inputs: with defaults.  output: that of a completed run, else null.
    tree: what it and the runs below it have spent; null of the past.
    """

    inputs: Json
    output: Json
    tree: SummitTreeTotals | None


class SummitRuns(ResponseModel):
    items: list[ListedRunRow]
    next: str | None


class SummitTreeRun(ResponseModel):
    """A run of a tree.

    depth: 0 for the run that is asked for.  usd: what it has cost, to nine decimals.
    treeUsd: what it and the runs below it have cost.
    """

    runId: str
    parentRunId: str | None
    depth: Count
    agentId: str
    status: Status
    tokens: Count
    usd: Dollars
    treeUsd: Dollars | None


class SummitRunTree(ResponseModel):
    items: list[SummitTreeRun]
    next: str | None


class SummitEvidenceCheck(ResponseModel):
    """The comparison of one hash.

    result: `missing` if a record is no longer on the log.  found: the hash that was computed; null
    then, and without anything to hash.  source: the position or the topic that was read.
    """

    check: Literal["callHash", "inputHash", "manifestHash", "replyHash", "outputHash"]
    result: Literal["ok", "mismatch", "missing"]
    expected: str
    computed: Annotated[str | None, Field(alias="found")]
    source: str


class SummitRunEvidence(ResponseModel):
    runId: str
    checks: list[SummitEvidenceCheck]


EXTENDED = (
    Extended("SummitListedRun", _RUN, ListedRun, without=("state",)),
    Extended("SummitWholeRun", _RUN, WholeRun, without=("state",)),
)
RESPONSES: Mapping[str, ResponseShape] = {
    "SummitVerdicts": SummitVerdicts,
    "SummitAgent": Row.of(SUMMIT_AGENTS),
    "SummitAgents": Page.of(SUMMIT_AGENTS),
    "SummitEvents": Page.of(SUMMIT_EVENTS),
    "SummitRuns": SummitRuns,
    "SummitRunTree": SummitRunTree,
    "SummitRunEvidence": SummitRunEvidence,
    **{extended.name: extended for extended in EXTENDED},
}
"""The responses by their names in the route table."""
