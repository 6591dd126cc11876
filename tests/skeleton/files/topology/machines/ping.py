"""A ping: it is answered once, and repeated as often as it is sent again."""

from __future__ import annotations

from enum import StrEnum

from topology.machine import define


class PingState(StrEnum):
    NEW = "NEW"
    ANSWERED = "ANSWERED"
    REPEATED = "REPEATED"


class PingEvent(StrEnum):
    SENT = "sent"  # an agent sends it


_S = PingState
_E = PingEvent

MACHINE = define(
    "ping",
    _S.NEW,
    {
        _S.NEW: {_E.SENT: _S.ANSWERED},
        _S.ANSWERED: {_E.SENT: _S.REPEATED},
        _S.REPEATED: {_E.SENT: _S.REPEATED},
    },
)
