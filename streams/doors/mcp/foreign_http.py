"""The HTTP client that asks real MCP servers, of which it reads so much and no more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping

import httpx2

MOST_BYTES = 16 << 20
"""The most that a server sends: in all its responses, or in each where the connection lasts."""
_TIMEOUT = httpx2.Timeout(30.0)


class TooLarge(httpx2.StreamError):
    """A server sends more than is read of it, or so that its size is not known."""


class _BoundedStream(httpx2.AsyncByteStream):
    """A response's bytes, each part counted before it is handed on.  take: counts; may raise."""

    def __init__(self, stream: httpx2.AsyncByteStream, take: Callable[[int], None]) -> None:
        self._stream, self._take = stream, take

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            self._take(len(part))
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


def make_client(headers: Mapping[str, str], lasting: bool = False) -> httpx2.AsyncClient:
    """Return a client that sends the headers, and takes 16 MiB in all, not compressed.

    lasting: take so much in each response instead, and wait for each part without limit; whoever
    calls has a limit of its own.  Its reads raise TooLarge.
    """
    in_all = _Budget()

    async def bound(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise TooLarge("the server sends compressed responses, which were not asked for")
        assert isinstance(response.stream, httpx2.AsyncByteStream), "the client is asynchronous"
        budget = _Budget() if lasting else in_all
        response.stream = _BoundedStream(response.stream, budget.take)

    sent = {**headers, "accept-encoding": "identity"}
    timeout = httpx2.Timeout(30.0, read=None) if lasting else _TIMEOUT
    return httpx2.AsyncClient(headers=sent, timeout=timeout, event_hooks={"response": [bound]})


class _Budget:
    """The bytes that may still be read."""

    def __init__(self) -> None:
        self._left = MOST_BYTES

    def take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise TooLarge(f"the server sends more than {MOST_BYTES} bytes")
