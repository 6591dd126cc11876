"""The caller of the request being answered, in a context variable of its task."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from streams.access.callers import Caller
from streams.engine.principals import Principals
from streams.engine.records import Output

_CALLER: ContextVar[Caller | None] = ContextVar("caller", default=None)


def get_caller() -> Caller | None:
    """Return the caller, None if the gateway requires no tokens or the route needs none."""
    return _CALLER.get()


@contextmanager
def set_caller(caller: Caller | None) -> Iterator[None]:
    token = _CALLER.set(caller)
    try:
        yield
    finally:
        _CALLER.reset(token)


def sign_outputs(outputs: list[Output], principals: Principals | None, now_ms: int) -> list[Output]:
    """Sign the outputs with the caller's principal, if the caller and a signing key are known."""
    caller = get_caller()
    if caller is None or principals is None:
        return outputs
    name = caller.principal.encode()
    return [principals.signed(output, name, now_ms) for output in outputs]
