"""Many clients of the live tail in one process: sockets, reconnects, ids; no HTTP library."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from streams.gateway.live_tail import PATH

_PAUSE_S = 0.1


class EventSource:
    """A client that follows a stream as browsers do: it reconnects with the last id.

    on_data: called with each event's data.  Refused requests are recorded, and end it.
    """

    def __init__(self, port: int, query: str, on_data: Callable[[bytes], None]) -> None:
        self.last_id = ""
        self.connections = 0
        self.overflows = 0
        self.refused: list[bytes] = []
        self._port = port
        self._query = query
        self._on_data = on_data

    async def run(self) -> None:
        while not self.refused:
            try:
                await self._connect()
            except (OSError, asyncio.IncompleteReadError, ValueError):
                await asyncio.sleep(_PAUSE_S)

    async def _connect(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            last = f"Last-Event-ID: {self.last_id}\r\n" if self.last_id else ""
            request = f"GET {PATH}{self._query} HTTP/1.1\r\nHost: localhost\r\n{last}\r\n"
            writer.write(request.encode())
            head = await reader.readuntil(b"\r\n\r\n")
            status = head.split(b" ", 2)[1]
            if status != b"200":
                if status != b"503":
                    self.refused.append(head + await reader.read(4096))
                await asyncio.sleep(_PAUSE_S)
                return
            self.connections += 1
            await self._follow(reader)
        finally:
            writer.close()

    async def _follow(self, reader: asyncio.StreamReader) -> None:
        text = b""
        while size := int(await reader.readuntil(b"\r\n"), 16):
            text += (await reader.readexactly(size + 2))[:-2]
            *blocks, text = text.split(b"\n\n")
            for block in blocks:
                self._take(block)

    def _take(self, block: bytes) -> None:
        data = None
        for line in block.split(b"\n"):
            if line.startswith(b"id: "):
                self.last_id = line[4:].decode()
            elif line.startswith(b"data: "):
                data = line[6:]
        if block.startswith(b"event: overflow"):
            self.overflows += 1
        elif data is not None:
            self._on_data(data)


async def follow_all(sources: Sequence[EventSource]) -> None:
    """Follow all sources until cancelled."""
    async with asyncio.TaskGroup() as group:
        for source in sources:
            group.create_task(source.run())
