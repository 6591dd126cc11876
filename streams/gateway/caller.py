"""Whose request is being answered, known to all that its task does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from streams.access.callers import Caller
from streams.engine.principals import Principals
from streams.engine.records import Output

_CALLER: ContextVar[Caller | None] = ContextVar("caller", default=None)


def caller() -> Caller | None:
    """None where there are no tokens, or the route needs none."""
    return _CALLER.get()


@contextmanager
def answering(found: Caller | None) -> Iterator[None]:
    token = _CALLER.set(found)
    try:
        yield
    finally:
        _CALLER.reset(token)


def signed(outputs: list[Output], principals: Principals | None, now_ms: int) -> list[Output]:
    """With who sends them, if both that and a key to sign with are known."""
    found = caller()
    if found is None or principals is None:
        return outputs
    name = found.principal.encode()
    return [principals.signed(output, name, now_ms) for output in outputs]
