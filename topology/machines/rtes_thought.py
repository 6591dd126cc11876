"""A thought stream: what one agent thinks in one turn, in chunks.

The first chunk opens it, the final one closes it, and one chunk may do both.  Chunks carry no
number of their own, so their order is that of their arrival.  A chunk behind the final one is
refused (`thought_closed`): the audit compares a closed stream with its turn, and what was found
equal must stay so.

Source: SAOP guide, 4.5.
"""

from __future__ import annotations

from enum import StrEnum

from topology.machine import define


class ThoughtState(StrEnum):
    NONE = "none"
    OPEN = "open"
    CLOSED = "closed"


class ThoughtEvent(StrEnum):
    CHUNK = "chunk"
    FINAL_CHUNK = "final_chunk"


_S = ThoughtState
_E = ThoughtEvent

MACHINE = define(
    "rtes-thought",
    _S.NONE,
    {
        _S.NONE: {_E.CHUNK: _S.OPEN, _E.FINAL_CHUNK: _S.CLOSED},
        _S.OPEN: {_E.CHUNK: _S.OPEN, _E.FINAL_CHUNK: _S.CLOSED},
        _S.CLOSED: {},
    },
)
