"""The coordination of one agent in an APC session: one round of work, over and over.

An agent rests in LOCAL_IDLE.  A task wakes it; it completes its context, has an idea and
criticises it.  What it tells itself is on the INTRA_AGENT channel, and that is how the steps
between are seen: a claim it believes more after thought than before passes the critique, an
artifact is built, a local evaluation checks it.  A critique or a check that fails leads back to
the idea.

What survives is published: the next packet to other agents is the one whose fate the agent then
waits for.  All acknowledgements together bring it to rest again.  A refusal, a deferral or an
expiry sends it back to the idea.

Cancelled, or after an error that no retry mends, the agent is in LOCAL_HALT for good, whatever it
was doing.  It is the only state that nothing leaves; LOCAL_IDLE is where an agent ends at rest,
and where it can begin anew.

Source: APC guide, 4.5.
"""

from __future__ import annotations

from enum import StrEnum

from topology.machine import define


class IntraState(StrEnum):
    LOCAL_IDLE = "LOCAL_IDLE"
    CONTEXT_SYNC = "CONTEXT_SYNC"
    IDEA_SYNTHESIS = "IDEA_SYNTHESIS"
    SELF_CRITIQUE = "SELF_CRITIQUE"
    LOCAL_BUILD = "LOCAL_BUILD"
    LOCAL_VERIFY = "LOCAL_VERIFY"
    PUBLISH = "PUBLISH"
    WAIT_FOR_ACK = "WAIT_FOR_ACK"
    LOCAL_HALT = "LOCAL_HALT"


class IntraEvent(StrEnum):
    TASK_ASSIGNED = "task_assigned"
    CONTEXT_COMPLETE = "context_complete"
    IDEA_PACKET_READY = "idea_packet_ready"
    CRITIQUE_PASS = "critique_pass"
    CRITIQUE_FAIL = "critique_fail"
    ARTIFACT_LOCAL_READY = "artifact_local_ready"
    LOCAL_CHECKS_PASS = "local_checks_pass"
    LOCAL_CHECKS_FAIL = "local_checks_fail"
    PACKET_EMITTED = "packet_emitted"
    ACK_ACCEPTED = "ack_accepted"
    ACK_REJECTED_OR_DEFERRED = "ack_rejected_or_deferred"
    CANCEL_OR_ERROR = "cancel_or_error"


_S = IntraState
_E = IntraEvent

MACHINE = define(
    "apc-intra",
    _S.LOCAL_IDLE,
    {
        _S.LOCAL_IDLE: {_E.TASK_ASSIGNED: _S.CONTEXT_SYNC},
        _S.CONTEXT_SYNC: {_E.CONTEXT_COMPLETE: _S.IDEA_SYNTHESIS},
        _S.IDEA_SYNTHESIS: {_E.IDEA_PACKET_READY: _S.SELF_CRITIQUE},
        _S.SELF_CRITIQUE: {
            _E.CRITIQUE_PASS: _S.LOCAL_BUILD,
            _E.CRITIQUE_FAIL: _S.IDEA_SYNTHESIS,
        },
        _S.LOCAL_BUILD: {_E.ARTIFACT_LOCAL_READY: _S.LOCAL_VERIFY},
        _S.LOCAL_VERIFY: {
            _E.LOCAL_CHECKS_PASS: _S.PUBLISH,
            _E.LOCAL_CHECKS_FAIL: _S.IDEA_SYNTHESIS,
        },
        _S.PUBLISH: {_E.PACKET_EMITTED: _S.WAIT_FOR_ACK},
        _S.WAIT_FOR_ACK: {
            _E.ACK_ACCEPTED: _S.LOCAL_IDLE,
            _E.ACK_REJECTED_OR_DEFERRED: _S.IDEA_SYNTHESIS,
        },
        _S.LOCAL_HALT: {},
    },
    anywhere={_E.CANCEL_OR_ERROR: _S.LOCAL_HALT},
    sealed=frozenset({_S.LOCAL_HALT}),
)
