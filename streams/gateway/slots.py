"""The change of a request that is being answered into a stream, whose limits are others.

Of some requests only the body says that they stay open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CHANGES: ContextVar[list[Callable[[], None]] | None] = ContextVar("slot_changes", default=None)


@contextmanager
def answering() -> Iterator[None]:
    """Answer one request, whose slots `on_stream` names, within this context."""
    token = _CHANGES.set([])
    try:
        yield
    finally:
        _CHANGES.reset(token)


def on_stream(change: Callable[[], None]) -> None:
    """Call this when the current request becomes a stream.  It may raise Refused."""
    changes = _CHANGES.get()
    if changes is not None:
        changes.append(change)


def count_as_stream() -> None:
    """Count the current request as a stream from now on.

    Raises Refused if its principal has as many as may be.
    """
    changes = _CHANGES.get() or []
    while changes:
        changes.pop(0)()
