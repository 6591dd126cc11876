"""Tests of the connection to a real MCP server that is started, lost and started again."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from streams.doors.mcp import foreign_session, foreign_stdio
from streams.doors.mcp.foreign_calls import CallFailed
from streams.doors.mcp.foreign_server import ServerUnreachable
from streams.doors.mcp.foreign_session import ForeignSession
from tests.unit.doors.mcp.bench import MODERN
from tests.unit.doors.mcp.foreign import GrowingServer, serving

SERVER = """
import os

from mcp.server import MCPServer

server = MCPServer("Mortal", version="1.0.0")


@server.tool()
def pid() -> int:
    return os.getpid()


@server.tool()
def die() -> int:
    os._exit(3)


@server.resource("note://one")
def note() -> str:
    return "all of it"


server.run()
"""


def test_a_server_of_the_newest_version_says_when_its_tools_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without listening the bridge would list them after a minute."""
    monkeypatch.setattr(foreign_session, "LIST_PAUSE_S", 0.01)

    async def story(url: str) -> None:
        session = ForeignSession(url, (), None, str)
        connecting = asyncio.create_task(session.run())
        try:
            server = await session.connect()
            assert server.protocol_version == MODERN
            for count in (2, 3):
                await session.call_tool("grow_0", {}, 60.0)
                async with asyncio.timeout(30):
                    while len((await session.describe(30)).tools) < count:
                        await asyncio.sleep(0.01)
        finally:
            connecting.cancel()
            await asyncio.wait({connecting})

    with serving(GrowingServer().server) as url:
        asyncio.run(story(url))


@asynccontextmanager
async def mortal(tmp_path: Path, lost: list[str]) -> AsyncIterator[ForeignSession]:
    path = tmp_path / "server.py"
    path.write_text(SERVER)
    source = shlex.join([sys.executable, str(path)])
    session = ForeignSession(source, (), None, str, lost.append)
    connecting = asyncio.create_task(session.run())
    try:
        yield session
    finally:
        connecting.cancel()
        await asyncio.wait({connecting})


@pytest.mark.slow
def test_a_server_that_dies_in_a_call_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fail the call that was under way; the next one waits for the new process."""
    monkeypatch.setattr(foreign_session, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(foreign_session, "RETURN_S", 60.0)
    lost: list[str] = []

    async def story() -> list[str]:
        async with mortal(tmp_path, lost) as session:
            await session.connect()
            pids = [await session.call_tool("pid", {}, 60.0)]
            with pytest.raises(CallFailed) as caught:
                await session.call_tool("die", {}, 60.0)
            pids.append(await session.call_tool("pid", {}, 60.0))
            assert caught.value.failure.reason == "mcp_unreachable"
            content = await session.read_resource("note://one", 60.0)
            assert content["contents"][0]["text"] == "all of it"
            return [result["content"][0]["text"] for result in pids]

    first, second = asyncio.run(story())
    assert first != second
    assert len(lost) == 1, lost


def test_a_server_that_is_not_there_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_session, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(foreign_session, "RETURN_S", 0.05)
    lost: list[str] = []

    async def story() -> None:
        session = ForeignSession("no-such-command", (), None, str, lost.append)
        connecting = asyncio.create_task(session.run())
        with pytest.raises(CallFailed) as caught:
            await session.call_tool("pid", {}, 60.0)
        assert caught.value.failure.reason == "mcp_unreachable"
        with pytest.raises(ServerUnreachable, match="there is no command"):
            await session.connect()
        with pytest.raises(ServerUnreachable, match="no-such-command"):
            await session.describe(0.05)
        connecting.cancel()
        await asyncio.wait({connecting})

    asyncio.run(story())
    assert "there is no command 'no-such-command'" in lost


def test_a_server_may_send_more_than_the_bound_in_lines_that_keep_it(tmp_path: Path) -> None:
    lines = tmp_path / "lines.py"
    lines.write_text("print('a' * 300_000)\n" * 5)
    command = [sys.executable, str(lines)]
    with (tmp_path / "out").open("wb") as output:
        assert foreign_stdio.run("line", 400_000, command, output) == 0
        for scope, most_bytes in (("line", 150_000), ("all", 400_000)):
            error = foreign_stdio.run(scope, most_bytes, command, output)
            assert error == f"the server sends more than {most_bytes} bytes"
