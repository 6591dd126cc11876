"""A tool call, as its two events tell it.

A call begins and ends once.  But the two may be told by two producers, and the end may come first.
Then it is recorded, as `unpaired`, for it is an observation like any other; and the beginning, if
it comes after all, is recorded once, as `out_of_order`.  From then on the call is closed as any
other is.

What has no edge was told before: `call_already_invoked` or `call_already_completed`.

Source: SAOP guide, 4.4.
"""

from __future__ import annotations

from enum import StrEnum

from topology.machine import define


class CallState(StrEnum):
    NONE = "none"
    OPEN = "open"
    CLOSED = "closed"
    UNPAIRED = "unpaired"


class CallEvent(StrEnum):
    INVOKED = "invoked"
    COMPLETED = "completed"


_S = CallState
_E = CallEvent

MACHINE = define(
    "rtes-call",
    _S.NONE,
    {
        _S.NONE: {_E.INVOKED: _S.OPEN, _E.COMPLETED: _S.UNPAIRED},
        _S.OPEN: {_E.COMPLETED: _S.CLOSED},
        _S.UNPAIRED: {_E.INVOKED: _S.CLOSED},
        _S.CLOSED: {},
    },
)
