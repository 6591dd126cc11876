"""A task of ASAP, from its request to its one end.

Two sides move it.  Agents do by the statuses that they report, and the requester also by a cancel
and by the message that answers a question: these moves are the protocol's own, and `transition`
knows them only.  The service adds one: when a task's time is over it fails, in whatever open state
it is, so that every task ends.  Agents may not fail what nobody began.

A task that waits, for input or paused, goes on by working again; it ends from there only by a
cancel or by its time.  A status that is the current one is no transition.  That a worker which
answers at once has worked is the processor's to write down, as a step that is marked.

Source: ASAP guide, 4.1.
"""

from __future__ import annotations

from enum import StrEnum

from topology.machine import define


class TaskState(StrEnum):
    NONE = "none"
    SUBMITTED = "submitted"
    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REJECTED = "rejected"


class TaskEvent(StrEnum):
    REQUEST = "request"
    START = "start"
    ASK_INPUT = "ask_input"
    PAUSE = "pause"
    COMPLETE = "complete"
    FAIL = "fail"
    CANCEL = "cancel"
    REJECT = "reject"
    TIME_OUT = "time_out"  # the service's


_S = TaskState
_E = TaskEvent

_AT_REST: dict[str, TaskState] = {
    _E.START: _S.WORKING,
    _E.CANCEL: _S.CANCELLED,
    _E.TIME_OUT: _S.FAILED,
}
"""How a task goes on that waits."""

MACHINE = define(
    "asap-task",
    _S.NONE,
    {
        _S.NONE: {_E.REQUEST: _S.SUBMITTED},
        _S.SUBMITTED: {**_AT_REST, _E.REJECT: _S.REJECTED},
        _S.WORKING: {
            _E.ASK_INPUT: _S.INPUT_REQUIRED,
            _E.PAUSE: _S.PAUSED,
            _E.COMPLETE: _S.COMPLETED,
            _E.FAIL: _S.FAILED,
            _E.CANCEL: _S.CANCELLED,
            _E.TIME_OUT: _S.FAILED,
        },
        _S.INPUT_REQUIRED: _AT_REST,
        _S.PAUSED: _AT_REST,
        _S.COMPLETED: {},
        _S.FAILED: {},
        _S.CANCELLED: {},
        _S.REJECTED: {},
    },
)
