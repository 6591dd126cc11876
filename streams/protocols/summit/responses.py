"""The responses about runs and agents of Summit, and about sent records (Summit 6.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from streams.gateway.answers.service import Position
from streams.gateway.answers.shapes import Answer, Extended, Json, Page, Response, Row, record
from topology.summit import SUMMIT_AGENTS, SUMMIT_EVENTS, SUMMIT_RUNS

Status = Literal["queued", "running", "completed", "failed", "cancelled", "budget_exceeded"]
EventRow = Annotated[dict[str, Any], record("headrace.summit.SummitEvent")]
ListedRunRow = Annotated[dict[str, Any], record("SummitListedRun")]
_RUN = SUMMIT_RUNS.record or ""


class SummitVerdicts(Answer):
    """The positions of the records on the log, in the order sent, and the verdict on each."""

    positions: list[Position]
    verdicts: list[EventRow]


class ListedRun(Answer):
    status: Status


class WholeRun(ListedRun):
    """A run with its inputs and output.

    inputs: with defaults.  output: that of a completed run, else null.
    """

    inputs: Json
    output: Json


class SummitRuns(Answer):
    items: list[ListedRunRow]
    next: str | None


EXTENDED = (
    Extended("SummitListedRun", _RUN, ListedRun, without=("state",)),
    Extended("SummitWholeRun", _RUN, WholeRun, without=("state",)),
)
RESPONSES: Mapping[str, Response] = {
    "SummitVerdicts": SummitVerdicts,
    "SummitAgent": Row.of(SUMMIT_AGENTS),
    "SummitAgents": Page.of(SUMMIT_AGENTS),
    "SummitEvents": Page.of(SUMMIT_EVENTS),
    "SummitRuns": SummitRuns,
    **{extended.name: extended for extended in EXTENDED},
}
"""The responses by their names in the route table."""
