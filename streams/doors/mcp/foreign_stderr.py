"""The standard error of MCP servers that are started, line by line instead of as it comes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TextIO

ShowLine = Callable[[str], object]
"""Takes one line without its line break; it may contain any other control character."""
MAX_LINE_BYTES = 8192
"""A longer line is shown in pieces: a server that never ends its line must not fill the memory."""
_END_S = 1.0
"""How long a process that the server has left behind may hold its standard error, in seconds."""


@asynccontextmanager
async def stderr_lines(show: ShowLine) -> AsyncIterator[TextIO]:
    """Open a file for the standard error of a server; what is written there goes to `show`.

    At the end what was written before is shown too.
    """
    read_end, write_end = os.pipe()
    stream = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(read_end, "rb")
    )
    task = asyncio.create_task(_show_lines(stream, show))
    try:
        with os.fdopen(write_end, "w") as file:
            yield file
    finally:
        await asyncio.wait([task], timeout=_END_S)
        task.cancel()
        transport.close()


async def _show_lines(stream: asyncio.StreamReader, show: ShowLine) -> None:
    line = b""
    while chunk := await stream.read(MAX_LINE_BYTES):
        *lines, line = (line + chunk).split(b"\n")
        for each in lines:
            _show(each, show)
        if len(line) >= MAX_LINE_BYTES:
            _show(line, show)
            line = b""
    if line:
        _show(line, show)


def _show(line: bytes, show: ShowLine) -> None:
    show(line.removesuffix(b"\r").decode(errors="replace"))
