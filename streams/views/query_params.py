"""Declarations of query parameters: the allowed values, and their meaning."""

from __future__ import annotations

import re
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from schemas.formats import parse_ms

MAX_NUMBER = 2**53 - 1


class ValueForm(StrEnum):
    """The syntax of a value."""

    TEXT = "text"
    WHOLE = "whole number"
    NUMBER = "number"
    FLAG = "true or false"
    POSITION = "position"
    CURSOR = "cursor"
    TIME = "time"
    POINT = "position or time"


class Parameter(NamedTuple):
    """The declaration of a query parameter.

    low, high: inclusive bounds of a number; of a text, those of its length.
    choices: the only texts allowed, if any.
    default: used if the parameter is absent.  rule: the rule code for a value that is not allowed.
    """

    name: str
    meaning: str
    form: ValueForm = ValueForm.TEXT
    low: int = 0
    high: int = MAX_NUMBER
    default: int | bool | None = None
    choices: tuple[str, ...] = ()
    required: bool = False
    rule: str = "query_value"
    example: str | None = None

    def fault(self, text: str) -> str | None:
        """Return what is wrong with a value, None if it is allowed."""
        if self.choices and text not in self.choices:
            return f"one of {', '.join(self.choices)}"
        match self.form:
            case ValueForm.WHOLE:
                fits = _WHOLE.fullmatch(text) and self.low <= int(text) <= self.high
                return None if fits else f"a whole number, {self.bounds}"
            case ValueForm.NUMBER:
                fits = _NUMBER.fullmatch(text) and self.low <= Decimal(text) <= self.high
                return None if fits else f"a number, {self.bounds}"
            case ValueForm.FLAG:
                return None if text in ("true", "false") else "true or false"
            case ValueForm.POSITION:
                return None if _POSITION.fullmatch(text) else "a position, topic/partition/offset"
            case ValueForm.POINT if not text:
                return "a position, topic/partition/offset, or an ISO 8601 time with zone"
            case ValueForm.TIME if parse_ms(text) is None:
                return "an ISO 8601 time with zone"
            case ValueForm.TEXT if not self.low <= len(text) <= self.high:
                return "at least 1 character" if self.low == 1 else f"{self.bounds} characters"
        return None

    @property
    def bounds(self) -> str:
        return f"at least {self.low}" if self.high == MAX_NUMBER else f"{self.low} to {self.high}"


_WHOLE = re.compile(r"-?[0-9]{1,16}", re.ASCII)
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,15})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?", re.ASCII)
_POSITION = re.compile(r"[^/]+/[0-9]{1,18}/[0-9]{1,18}", re.ASCII)

AFTER = Parameter(
    "after",
    "wait until the answer to the record at this position, as a produce request gave it, is seen",
    ValueForm.POSITION,
    example="apc.packets/0/17",
)
FRESH = Parameter(
    "fresh",
    "wait until everything is seen that the topics hold at the time of the request",
    ValueForm.FLAG,
    default=False,
)
AS_OF = Parameter(
    "as_of",
    "as it was once what lies at this position was decided, or at this time (ISO 8601); instead of"
    " `after`",
    ValueForm.POINT,
    example="2026-11-22T12:00:00.000Z",
)
CURSOR = Parameter("cursor", "`next` of the page before", ValueForm.CURSOR)


def limit(default: int, high: int = MAX_NUMBER, rule: str = "query_value") -> Parameter:
    """Return the declaration of a list's `limit`."""
    return Parameter("limit", "most rows", ValueForm.WHOLE, 1, high, default, rule=rule)


def one_of(name: str, meaning: str, choices: tuple[str, ...]) -> Parameter:
    return Parameter(name, meaning, choices=choices)


def window(meaning: str) -> tuple[Parameter, Parameter]:
    """Return the declarations of `from` (inclusive) and `to` (exclusive).

    meaning: what happened to a row at its time, as `created`.
    """
    return (
        Parameter(
            "from", f"{meaning} not earlier", ValueForm.TIME, example="2026-11-22T12:00:00.000Z"
        ),
        Parameter("to", f"{meaning} earlier", ValueForm.TIME, example="2026-11-23T12:00:00.000Z"),
    )


SESSION_ID = Parameter("session_id", "of this session", example="sess-01")
RUN_ID = Parameter("run_id", "of this run", example="run-01")
TASK_ID = Parameter("task_id", "of this task", example="task-01")
PROJECT_ID = Parameter("project_id", "of this project")
PROTOCOL_ID = Parameter("protocol_id", "of this protocol")
PACKET_ID = Parameter("packet_id", "this packet", example="7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730")
