"""Large batches for requests: those of one request at a time are in memory.

Each may inflate to `inflation.INFLATED_BYTES`, and as many threads as read would each hold that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

from streams.errors import BrokerUnavailable

T = TypeVar("T")

LARGE_BYTES = 1 << 20
"""A batch that inflates to more waits for its turn."""
PATIENCE_S = 10.0
"""How long a request waits for its turn."""


class _Turn:
    """The turn of one request.  A request that reads with several readers has one."""

    def __init__(self) -> None:
        self.taken = False

    def take(self) -> None:
        """Wait for the other requests with large batches.  Raises BrokerUnavailable."""
        if self.taken:
            return
        if not _LARGE.acquire(timeout=PATIENCE_S):
            raise BrokerUnavailable(
                f"large records have been read for {PATIENCE_S:.0f} s; ask again"
            )
        self.taken = True

    def end(self) -> None:
        if self.taken:
            _LARGE.release()


_LARGE = threading.Lock()
_TURN: ContextVar[_Turn | None] = ContextVar("turn", default=None)


def take_turns(read: Callable[[], T]) -> T:
    """Return what a request reads; what it inflates counts as held until then.

    Raises BrokerUnavailable if others read large records for `PATIENCE_S`.
    """
    turn = _Turn()
    token = _TURN.set(turn)
    try:
        return read()
    finally:
        _TURN.reset(token)
        turn.end()


def await_turn(inflated_bytes: int) -> None:
    """Wait before a batch is inflated for a request, if it is large.  Raises BrokerUnavailable."""
    turn = _TURN.get()
    if turn is not None and inflated_bytes > LARGE_BYTES:
        turn.take()
