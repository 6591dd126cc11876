"""The memory of request bodies: the JSON values of one, and what all take at once.

A value takes far more memory than its text: `{}` is two bytes of a body and 64 of an object.  So
values are counted in the text, before any is built.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice

from streams.api.problems import problem
from streams.api.route import Refused

VALUE_BYTES = 100
"""What a value counts for, about the size of a small object and its place in a list."""
_SEPARATORS = (b",", b"[", b"{", b":", b"\n")
_VALUE = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[^\s\[\]{},:"]++', re.DOTALL)
"""A string, also without an end; the begin of a list or object; a number or word.

Nothing that was matched is tried again, so that a search takes linear time.
"""


def bound_values(body: bytes) -> int:
    """Return a number that the JSON values of a body do not exceed; separators in strings count."""
    return 1 + sum(map(body.count, _SEPARATORS))


def count_values(body: bytes, limit: int) -> int:
    """Return the number of JSON values and member names, up to `limit` + 1, in linear time."""
    return sum(1 for _ in islice(_VALUE.finditer(body), limit + 1))


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
    """The memory of one request's body.  size: bytes."""

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
    memory.used += size
    share.size += size
