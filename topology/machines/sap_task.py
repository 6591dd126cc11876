"""A task of SAP, from its acceptance to its one end.

Two sides move it.  The agent that has it reports a status, and the report is the event.  The
service moves it by rules of its own: the cache answers, the constitution refuses or escalates, the
deadline passes, an operator cancels; there the rule is the event.  The service acts on any open
task, but what it may do before anybody has worked on one (answer from the cache, refuse the
payload) it does from QUEUED only.

Agents may skip RUNNING.  QUEUED is nobody's report: the service has said it already.  RUNNING again
is progress, and needs metrics that tell it; the processor sees to that.  PARTIAL is no end, and is
followed by RUNNING or an end, not by another PARTIAL.

Source: SAP guide, 4.
"""

from __future__ import annotations

from enum import StrEnum

from topology.machine import define


class TaskState(StrEnum):
    NONE = "none"
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    PARTIAL = "PARTIAL"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    ESCALATED = "ESCALATED"


class TaskEvent(StrEnum):
    ACCEPTED = "accepted"
    # A status that an agent reports, and the constitution lets stand.
    RUNNING = "RUNNING"
    PARTIAL = "PARTIAL"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    ESCALATED = "ESCALATED"
    CANCELLED = "CANCELLED"
    # Rules of the service.
    CACHE_HIT = "cache_hit"
    CACHE_ONLY_MISS = "cache_only_miss"
    PRECHECK_REFUSED = "precheck_refused"
    PRECHECK_ESCALATED = "precheck_escalated"
    ALIGNMENT_REFUSED = "alignment_refused"
    ALIGNMENT_ESCALATED = "alignment_escalated"
    DEADLINE_PASSED = "deadline_passed"
    CANCELLED_BY_SIGNAL = "cancelled_by_signal"


_S = TaskState
_E = TaskEvent

_ENDS: dict[str, TaskState] = {
    _E.SUCCEEDED: _S.SUCCEEDED,
    _E.FAILED: _S.FAILED,
    _E.ESCALATED: _S.ESCALATED,
    _E.CANCELLED: _S.CANCELLED,
    _E.ALIGNMENT_REFUSED: _S.FAILED,
    _E.ALIGNMENT_ESCALATED: _S.ESCALATED,
    _E.DEADLINE_PASSED: _S.FAILED,
    _E.CANCELLED_BY_SIGNAL: _S.CANCELLED,
}
"""How any open task may end."""

MACHINE = define(
    "sap-task",
    _S.NONE,
    {
        _S.NONE: {_E.ACCEPTED: _S.QUEUED},
        _S.QUEUED: {
            _E.RUNNING: _S.RUNNING,
            _E.CACHE_HIT: _S.SUCCEEDED,
            _E.CACHE_ONLY_MISS: _S.FAILED,
            _E.PRECHECK_REFUSED: _S.FAILED,
            _E.PRECHECK_ESCALATED: _S.ESCALATED,
            **_ENDS,
        },
        _S.RUNNING: {_E.RUNNING: _S.RUNNING, _E.PARTIAL: _S.PARTIAL, **_ENDS},
        _S.PARTIAL: {_E.RUNNING: _S.RUNNING, **_ENDS},
        _S.SUCCEEDED: {},
        _S.FAILED: {},
        _S.CANCELLED: {},
        _S.ESCALATED: {},
    },
)
