"""The memory of bodies, of requests and of large responses: what all of them take at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from streams.api.problems import problem
from streams.api.route import Refused

LARGE_BYTES = 1 << 20
"""A response counts if it is larger."""
VALUE_BYTES = 100
"""What a value of a request counts for: about a small object and its place in a list."""


class BodyMemory:
    """The memory that bodies may take at once.  limit, used: bytes."""

    def __init__(self, limit: int) -> None:
        self.limit, self.used = limit, 0

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Count what `take_memory` takes within this context, and give it back at its end."""
        share = _Share(self)
        token = _SHARE.set(share)
        try:
            yield
        finally:
            _SHARE.reset(token)
            self.used -= share.size


class _Share:
    """The memory of the bodies of one request and its response.  size: bytes."""

    def __init__(self, memory: BodyMemory) -> None:
        self.memory, self.size = memory, 0


_SHARE: ContextVar[_Share | None] = ContextVar("body_memory", default=None)


def take_memory(size: int) -> None:
    """Take memory for the body of the current request.  Raises Refused (503) if there is none."""
    share = _SHARE.get()
    if share is None:
        return
    memory = share.memory
    if memory.used + size > memory.limit:
        detail = f"bodies of more than {memory.limit} bytes are being read; send again"
        raise Refused(problem(503, detail, "service_unavailable"))
    _take(share, size)


def take_response_memory(size: int) -> None:
    """Take memory until a large response is read.  Raises Refused (503) if there is none.

    One that is alone is sent whatever its size, so that no limit withholds it for good.
    """
    share = _SHARE.get()
    if share is None or size <= LARGE_BYTES:
        return
    memory = share.memory
    if memory.used > share.size and memory.used + size > memory.limit:
        detail = f"responses of more than {memory.limit} bytes wait for their readers; ask again"
        raise Refused(problem(503, detail, "service_unavailable"))
    _take(share, size)


def _take(share: _Share, size: int) -> None:
    share.memory.used += size
    share.size += size
