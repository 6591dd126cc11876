"""Answers about the gateway itself, and problems."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from streams.gateway.answers.shapes import Answer, Count, Time, record
from streams.views.status import State

Position = Annotated[str, Field(pattern=r"^[^/]+/[0-9]+/[0-9]+$")]


class Positions(Answer):
    """Where the records are on the log, in the order sent: topic/partition/offset."""

    positions: list[Position]


class Placed(Answer):
    """Where the command is on the log."""

    position: Position


class Alive(Answer):
    alive: Literal[True]


class ViewReadiness(Answer):
    state: State
    lag: Count
    applied: Count
    since: Time
    reason: str | None


class BrokerReadiness(Answer):
    up: bool
    reason: str | None


class Readiness(Answer):
    ready: bool
    view: ViewReadiness
    broker: BrokerReadiness


class ValueProblem(Answer):
    """What is wrong with one of the values sent; index counts from 0."""

    index: Count
    rule: str
    path: str
    message: str


class Problem(BaseModel):
    """Problem details (RFC 9457).  rule: the code of the rule broken.

    path: a JSON Pointer into the body, or the name of a query parameter.
    position: of a command that is on the log, while what came of it is not known yet.
    fact: the refusal of a command.
    """

    type: str
    title: str
    status: int
    detail: str
    rule: str
    path: str | None = None
    lag: int | None = None
    position: Position | None = None
    fact: Annotated[dict[str, Any], record("headrace.saop.SaopRewindLogged")] | None = None
    errors: list[ValueProblem] | None = None
