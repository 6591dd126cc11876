"""The coordination of an APC session: where its swarms stand with their common work.

A session opens with its first packet.  Research briefs send the swarms apart, and each is ready
when it says so; when all are, they explore on their own.  From the eleventh generation on they
may learn from each other, carefully: one transfer that clears the strict bounds moves them into
convergence, where two candidates are enough for an arbitration and a committed decision ends it.
Unless somebody vetoed: an open veto holds the decision back.

What was decided is executed, and artifact and evaluation together bring it to validation.  There
the gates speak.  An evaluation that meets them promotes the work, and seeding the commons closes
the session; one that does not sends the swarms back to exploring, which is why the generation
window opens a second time.

A stop, or a budget that ran out, halts the session wherever it is.  CLOSED and HALTED are sealed.
They are also the one place where this machine decides about packets: such a session takes nothing
new, only what ends or reports what had begun.  Everywhere else it observes.  An event without an
edge is noted and changes nothing.

Source: APC guide, 4.4.
"""

from __future__ import annotations

from enum import StrEnum

from topology.machine import define


class InterState(StrEnum):
    SESSION_OPEN = "SESSION_OPEN"
    DIFFERENTIATED_RESEARCH = "DIFFERENTIATED_RESEARCH"
    INDEPENDENT_DISCOVERY = "INDEPENDENT_DISCOVERY"
    SELECTIVE_TRANSFER = "SELECTIVE_TRANSFER"
    CONTROLLED_CONVERGENCE = "CONTROLLED_CONVERGENCE"
    ARBITRATION = "ARBITRATION"
    EXECUTION = "EXECUTION"
    VALIDATION = "VALIDATION"
    PROMOTION = "PROMOTION"
    CLOSED = "CLOSED"
    HALTED = "HALTED"


class InterEvent(StrEnum):
    RESEARCH_BRIEFS_DISPATCHED = "research_briefs_dispatched"
    ALL_SWARMS_READY = "all_swarms_ready"
    GENERATION_WINDOW_OPEN = "generation_window_open"
    TRANSFER_ACCEPTED = "transfer_accepted"
    CANDIDATE_POOL_READY = "candidate_pool_ready"
    DECISION_COMMITTED = "decision_committed"
    ARTIFACT_AND_EVAL_EMITTED = "artifact_and_eval_emitted"
    VALIDATION_PASS = "validation_pass"
    VALIDATION_FAIL_OR_DRIFT = "validation_fail_or_drift"
    COMMONS_COMMIT_COMPLETE = "commons_commit_complete"
    STOP_SIGNAL_OR_BUDGET_EXHAUSTED = "stop_signal_or_budget_exhausted"


_S = InterState
_E = InterEvent

MACHINE = define(
    "apc-inter",
    _S.SESSION_OPEN,
    {
        _S.SESSION_OPEN: {_E.RESEARCH_BRIEFS_DISPATCHED: _S.DIFFERENTIATED_RESEARCH},
        _S.DIFFERENTIATED_RESEARCH: {_E.ALL_SWARMS_READY: _S.INDEPENDENT_DISCOVERY},
        _S.INDEPENDENT_DISCOVERY: {_E.GENERATION_WINDOW_OPEN: _S.SELECTIVE_TRANSFER},
        _S.SELECTIVE_TRANSFER: {_E.TRANSFER_ACCEPTED: _S.CONTROLLED_CONVERGENCE},
        _S.CONTROLLED_CONVERGENCE: {_E.CANDIDATE_POOL_READY: _S.ARBITRATION},
        _S.ARBITRATION: {_E.DECISION_COMMITTED: _S.EXECUTION},
        _S.EXECUTION: {_E.ARTIFACT_AND_EVAL_EMITTED: _S.VALIDATION},
        _S.VALIDATION: {
            _E.VALIDATION_PASS: _S.PROMOTION,
            _E.VALIDATION_FAIL_OR_DRIFT: _S.INDEPENDENT_DISCOVERY,
        },
        _S.PROMOTION: {_E.COMMONS_COMMIT_COMPLETE: _S.CLOSED},
        _S.CLOSED: {},
        _S.HALTED: {},
    },
    anywhere={_E.STOP_SIGNAL_OR_BUDGET_EXHAUSTED: _S.HALTED},
    sealed=frozenset({_S.CLOSED, _S.HALTED}),
)
