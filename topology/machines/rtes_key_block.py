"""A private key printed over several lines of a sandbox's output.

Each line of it is an event of its own, and none but the first and the last look like a secret.  So
a session remembers that it is inside of a key, and its body lines are masked whole while it is.

A line that begins a key and does not end it opens the block; the end of the key closes it.  A key
whose end never comes must not blind the session, so the block also closes after many lines
(`exhausted`) and after some minutes (`expired`).

The tokens that stand for begin and end in a line that was masked before count as begin and end.

Source: SAOP guide, 4.7.
"""

from __future__ import annotations

from enum import StrEnum

from topology.machine import define


class BlockState(StrEnum):
    CLOSED = "closed"
    OPEN = "open"


class BlockEvent(StrEnum):
    BEGIN = "begin"
    END = "end"
    EXHAUSTED = "exhausted"
    EXPIRED = "expired"


_S = BlockState
_E = BlockEvent

MACHINE = define(
    "rtes-key-block",
    _S.CLOSED,
    {
        _S.CLOSED: {_E.BEGIN: _S.OPEN},
        _S.OPEN: {_E.END: _S.CLOSED, _E.EXHAUSTED: _S.CLOSED, _E.EXPIRED: _S.CLOSED},
    },
)
