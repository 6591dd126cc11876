"""A run of Summit, from the call that makes it to its one end.

The agent moves it by its replies, the caller by a cancel, the service by its timer, and the runs
above and below it by what they spend, which changes no run that has ended.  A final reply
ends a run in any case: one whose content is wrong fails it, so that nobody waits for the timeout.
A short run may end before it was seen running.  Progress does not change a run that is running,
and neither does a critic's word one that is completed.

What is no move is a repetition, or is refused by the rule that the state has for it.  A timer
fires on open runs only, and a call that is repeated has a run: other cells cannot happen.

Source: Summit guide, 4.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from schemas.rules import Rule
from schemas.summit import rules
from topology.machine import define


class RunState(StrEnum):
    NONE = "none"
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    BUDGET_EXCEEDED = "budget_exceeded"


class RunEvent(StrEnum):
    CALL = "call"
    CALL_AGAIN = "call_again"
    PROGRESS = "progress"
    OVERSPEND = "overspend"
    RESULT = "result"
    FAULT = "fault"
    ERROR = "error"
    BUDGET_STOP = "budget_stop"
    CANCEL = "cancel"
    TIMEOUT = "timeout"
    OUT_OF_TIME = "out_of_time"
    VERIFICATION = "verification"
    TREE_OVERSPEND = "tree_overspend"  # the run and those below it spent more than its budget
    TREE_STOP = "tree_stop"  # a run above exceeded its budget


_S = RunState
_E = RunEvent

_OPEN: dict[str, RunState] = {
    _E.PROGRESS: _S.RUNNING,
    _E.OVERSPEND: _S.BUDGET_EXCEEDED,
    _E.RESULT: _S.COMPLETED,
    _E.FAULT: _S.FAILED,
    _E.ERROR: _S.FAILED,
    _E.BUDGET_STOP: _S.BUDGET_EXCEEDED,
    _E.CANCEL: _S.CANCELLED,
    _E.TIMEOUT: _S.FAILED,
    _E.OUT_OF_TIME: _S.BUDGET_EXCEEDED,
    _E.TREE_OVERSPEND: _S.BUDGET_EXCEEDED,
    _E.TREE_STOP: _S.BUDGET_EXCEEDED,
}

MACHINE = define(
    "summit-run",
    _S.NONE,
    {
        _S.NONE: {_E.CALL: _S.QUEUED},
        _S.QUEUED: _OPEN,
        _S.RUNNING: _OPEN,
        _S.COMPLETED: {_E.VERIFICATION: _S.COMPLETED},
        _S.FAILED: {},
        _S.CANCELLED: {},
        _S.BUDGET_EXCEEDED: {},
    },
    ended=frozenset({_S.COMPLETED}),
)

_MADE = tuple(state for state in _S if state is not _S.NONE)
_ENDED = tuple(state for state in _S if state in MACHINE.terminal)
_BY_REPLY = (_E.PROGRESS, _E.OVERSPEND, _E.RESULT, _E.FAULT, _E.ERROR, _E.BUDGET_STOP)

REPEATED: Mapping[tuple[RunState, RunEvent], Rule] = {
    **{(state, _E.CALL_AGAIN): rules.CALL_DUPLICATE for state in _MADE},
    (_S.CANCELLED, _E.CANCEL): rules.CANCEL_DUPLICATE,
}
"""Where an event repeats what was done before."""

REFUSED: Mapping[tuple[RunState, RunEvent], Rule] = {
    **{(state, _E.CALL): rules.RUN_CONFLICT for state in _MADE},
    **{(_S.NONE, event): rules.RUN_UNKNOWN for event in (*_BY_REPLY, _E.CANCEL, _E.VERIFICATION)},
    **{
        (state, event): rules.RUN_TERMINAL
        for state in _ENDED
        for event in (*_BY_REPLY, _E.CANCEL)
        if (state, event) not in REPEATED
    },
    **{
        (state, _E.VERIFICATION): rules.JUDGE_NOT_COMPLETED
        for state in _MADE
        if state is not _S.COMPLETED
    },
}
"""Where an event is refused, and by which rule."""
