"""An MCP call: a tool or a resource that one agent asks of another.

A call is answered once, by the agent that was asked, or its time runs out.  It is no task: it has
no states in between and keeps none, but like a task it never stays open for ever.

Source: ASAP guide, 4.2 and 5.5.
"""

from __future__ import annotations

from enum import StrEnum

from topology.machine import define


class CallState(StrEnum):
    NONE = "none"
    OPEN = "open"
    ANSWERED = "answered"
    TIMED_OUT = "timed_out"


class CallEvent(StrEnum):
    CALL = "call"
    ANSWER = "answer"
    TIME_OUT = "time_out"


_S = CallState
_E = CallEvent

MACHINE = define(
    "asap-call",
    _S.NONE,
    {
        _S.NONE: {_E.CALL: _S.OPEN},
        _S.OPEN: {_E.ANSWER: _S.ANSWERED, _E.TIME_OUT: _S.TIMED_OUT},
        _S.ANSWERED: {},
        _S.TIMED_OUT: {},
    },
)
