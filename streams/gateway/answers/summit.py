"""Answers about runs and agents of Summit, and about what was sent (Summit 6.2)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from streams.gateway.answers.service import Position
from streams.gateway.answers.shapes import Answer, Extended, Json, Page, Row, record
from topology import topics

Status = Literal["queued", "running", "completed", "failed", "cancelled", "budget_exceeded"]
EventRow = Annotated[dict[str, Any], record("headrace.summit.SummitEvent")]
ListedRunRow = Annotated[dict[str, Any], record("SummitListedRun")]
_RUN = topics.SUMMIT_RUNS.record or ""


class SummitVerdicts(Answer):
    """Where the records are on the log, in the order sent, and the verdict on each."""

    positions: list[Position]
    verdicts: list[EventRow]


class ListedRun(Answer):
    status: Status


class WholeRun(ListedRun):
    """inputs: with defaults.  output: of a completed run, else null."""

    inputs: Json
    output: Json


class SummitRuns(Answer):
    items: list[ListedRunRow]
    next: str | None


EXTENDED = (
    Extended("SummitListedRun", _RUN, ListedRun, without=("state",)),
    Extended("SummitWholeRun", _RUN, WholeRun, without=("state",)),
)
ANSWERS: dict[str, type[Answer] | Row | Page | Extended] = {
    "SummitVerdicts": SummitVerdicts,
    "SummitAgent": Row(topics.SUMMIT_AGENTS.record or ""),
    "SummitAgents": Page(topics.SUMMIT_AGENTS.record or ""),
    "SummitEvents": Page(topics.SUMMIT_EVENTS.record or ""),
    "SummitRuns": SummitRuns,
    **{extended.name: extended for extended in EXTENDED},
}
"""By the names of the route table."""
