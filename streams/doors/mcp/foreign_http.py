"""The HTTP client that asks real MCP servers, of which it reads so much and no more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping

import httpx2

MOST_BYTES = 16 << 20
"""The most that a server sends in all its responses."""
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


def make_client(headers: Mapping[str, str]) -> httpx2.AsyncClient:
    """Return a client that sends the headers, and takes 16 MiB in all, not compressed.

    Its reads raise TooLarge.
    """
    left = MOST_BYTES

    def take(size: int) -> None:
        nonlocal left
        left -= size
        if left < 0:
            raise TooLarge(f"the server sends more than {MOST_BYTES} bytes")

    async def bound(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise TooLarge("the server sends compressed responses, which were not asked for")
        assert isinstance(response.stream, httpx2.AsyncByteStream), "the client is asynchronous"
        response.stream = _BoundedStream(response.stream, take)

    sent = {**headers, "accept-encoding": "identity"}
    return httpx2.AsyncClient(headers=sent, timeout=_TIMEOUT, event_hooks={"response": [bound]})
