"""The admission of a TaskRequest, from its record to its verdict.

A request may rest on other keys: the depth of its parent, and the task that its idempotency key
already stands for.  Neither need lie in the partition that judges the request, so each is asked
for by a message, and the request waits, held with all later records of its key.

Depth is asked first and the claim last, so that a request that is refused never holds a key.  Then
it is admitted, refused, or redirected to the task that holds its key: the verdicts accepted,
rejected and duplicate.

Source: ASAP guide, 4.3 and 5.3.
"""

from __future__ import annotations

from enum import StrEnum

from topology.machine import define


class AdmissionState(StrEnum):
    NONE = "none"
    AWAITING_DEPTH = "awaiting_depth"
    AWAITING_CLAIM = "awaiting_claim"
    ADMITTED = "admitted"
    REFUSED = "refused"
    REDIRECTED = "redirected"


class AdmissionEvent(StrEnum):
    ASK_DEPTH = "ask_depth"
    ASK_CLAIM = "ask_claim"
    ADMIT = "admit"
    REFUSE = "refuse"
    REDIRECT = "redirect"


_S = AdmissionState
_E = AdmissionEvent

MACHINE = define(
    "asap-admission",
    _S.NONE,
    {
        _S.NONE: {
            _E.ASK_DEPTH: _S.AWAITING_DEPTH,
            _E.ASK_CLAIM: _S.AWAITING_CLAIM,
            _E.ADMIT: _S.ADMITTED,
            _E.REFUSE: _S.REFUSED,
        },
        _S.AWAITING_DEPTH: {
            _E.ASK_CLAIM: _S.AWAITING_CLAIM,
            _E.ADMIT: _S.ADMITTED,
            _E.REFUSE: _S.REFUSED,
        },
        _S.AWAITING_CLAIM: {_E.ADMIT: _S.ADMITTED, _E.REDIRECT: _S.REDIRECTED},
        _S.ADMITTED: {},
        _S.REFUSED: {},
        _S.REDIRECTED: {},
    },
)
