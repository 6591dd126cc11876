"""The flight of a cacheKey: one task computes what others ask for at the same time.

The first task that finds no answer, and may compute one, leads.  Others wait for it, each for its
time.  The flight ends when the leader stores its answer, when it ends without one, or when it has
been silent for the length of its lease; then those that wait are decided anew, and the first of
them that is not served opens the next flight.

Source: SAP guide, 4 and 5.4.
"""

from __future__ import annotations

from enum import StrEnum

from topology.machine import define


class FlightState(StrEnum):
    ABSENT = "absent"
    OPEN = "open"


class FlightEvent(StrEnum):
    LED = "led"  # a lookup that prefers the cache finds no answer and no flight
    STORED = "stored"  # the leader gives its answer, whatever the verdict on it
    RELEASED = "released"  # the leader ends without an answer to store
    LAPSED = "lapsed"  # the leader's lease is over


_S = FlightState
_E = FlightEvent

MACHINE = define(
    "sap-flight",
    _S.ABSENT,
    {
        _S.ABSENT: {_E.LED: _S.OPEN},
        _S.OPEN: {_E.STORED: _S.ABSENT, _E.RELEASED: _S.ABSENT, _E.LAPSED: _S.ABSENT},
    },
)
