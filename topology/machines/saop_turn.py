"""A turn of a task, on its way into the task's order.

Turns come over many roads and may overtake each other; the log of a task holds them in ascending
order all the same.  So a turn that is due is logged at once, and one that is ahead is held until
those before it have come.  It does not wait for ever: when too many wait, or when it has waited
for its time, the order goes on without what is missing, and the first turn behind the hole names
it.

That closes the hole.  A turn that belongs in it and comes later is MISSED: its verdict keeps it in
full, so nothing is lost, but the order that readers have seen does not change under them.

A turn that is known, and one too far ahead to be believed, are refused; neither is an event here.

Source: SAOP guide, 4.1.
"""

from __future__ import annotations

from enum import StrEnum

from topology.machine import define


class TurnState(StrEnum):
    NEW = "NEW"
    HELD = "HELD"
    LOGGED = "LOGGED"
    MISSED = "MISSED"


class TurnEvent(StrEnum):
    DUE = "due"  # it comes, or the one before it is logged: the next index is its own
    AHEAD = "ahead"  # it comes before one with a lower index
    CROWDED = "crowded"  # too many are held: the lowest run goes on
    WAITED = "waited"  # it was held for its time, or one behind it was
    LATE = "late"  # it comes when the order is past its index


_S = TurnState
_E = TurnEvent

MACHINE = define(
    "saop-turn",
    _S.NEW,
    {
        _S.NEW: {_E.DUE: _S.LOGGED, _E.AHEAD: _S.HELD, _E.LATE: _S.MISSED},
        _S.HELD: {_E.DUE: _S.LOGGED, _E.CROWDED: _S.LOGGED, _E.WAITED: _S.LOGGED},
        _S.LOGGED: {},
        _S.MISSED: {},
    },
)
