"""A way to a gateway or a broker that can be cut, be slow, or lose what comes back."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Self
from urllib.parse import urlsplit


class Detour:
    """A TCP relay to whatever address `target` gives at the time.

    lose_answers: requests go through, answers are dropped and the connection with them.
    bytes_per_s: what all clients together may send; None for any number.
    requests: chunks that clients sent; connections: how many there have been.
    """

    def __init__(self, target: Callable[[], str]) -> None:
        self._target = target
        self.bytes_per_s: float | None = None
        self._free_at = 0.0
        self._open: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self.lose_answers = False
        self.connections = 0
        self.requests = 0
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        while self._open:
            await asyncio.sleep(0.01)

    def cut(self) -> None:
        """Every connection, now, without a goodbye."""
        for writer in self._open:
            writer.transport.abort()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        try:
            there = urlsplit(self._target())
            onward = await asyncio.open_connection(there.hostname, there.port)
            ways = [self._copy(reader, onward[1], False), self._copy(onward[0], writer, True)]
            tasks = [asyncio.create_task(way) for way in ways]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await _close(onward[1])
        except OSError:
            pass
        finally:
            await _close(writer)
            self._open.discard(writer)

    async def _copy(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while chunk := await reader.read(1 << 16):
                if answer and self.lose_answers:
                    return
                self.requests += not answer
                if not answer:
                    await self._wait_turn(len(chunk))
                writer.write(chunk)
                await writer.drain()

    async def _wait_turn(self, size: int) -> None:
        """Wait as long as a link with this throughput takes for what was sent before, and this."""
        if self.bytes_per_s is None:
            return
        now = asyncio.get_running_loop().time()
        self._free_at = max(now, self._free_at) + size / self.bytes_per_s
        await asyncio.sleep(self._free_at - now)


@contextlib.contextmanager
def detour_thread(target: Callable[[], str]) -> Iterator[Detour]:
    """Run a detour on an event loop of its own, for clients that are not of asyncio."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        detour = Detour(target)
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        try:
            asyncio.run_coroutine_threadsafe(detour.__aenter__(), loop).result()
            yield detour
        finally:
            asyncio.run_coroutine_threadsafe(detour.__aexit__(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
