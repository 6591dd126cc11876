"""Tests of asking a real MCP server, over HTTP and over standard input and output."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.doors.mcp.foreign_server import MAX_TOOLS, ServerUnreachable, describe
from streams.doors.mcp.foreign_stderr import MAX_LINE_BYTES, stderr_lines
from tests.unit.doors.mcp.foreign import PagedServer, serving

TOKEN = "0123456789abcdef-hunter2"
REGISTER = ("summit", "register", "--print", "--from-mcp")


def test_all_pages_of_a_server_are_asked_for_by_its_cursors() -> None:
    paged = PagedServer(pages=3, page_tools=2)
    with serving(paged.server) as url:
        server = describe(url)
    assert (server.name, server.version) == ("Paged", "1.2.3")
    names = [tool["name"] for tool in server.tools]
    assert names == ["t0-0", "t0-1", "t1-0", "t1-1", "t2-0", "t2-1"]
    assert paged.cursors == [None, "1", "2"]


def test_no_page_is_asked_for_after_the_most_tools() -> None:
    paged = PagedServer(pages=None, page_tools=400)
    with serving(paged.server) as url:
        server = describe(url)
    assert len(server.tools) == MAX_TOOLS == 1000
    assert server.tools[-1]["name"] == "t2-199"
    assert paged.cursors == [None, "1", "2"]


def test_the_bridge_token_goes_to_the_address(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    paged = PagedServer(pages=1, page_tools=1)
    with serving(paged.server, TOKEN) as url:
        for variable, text in (("", TOKEN), ("_FILE", str(file))):
            env = {f"HEADRACE_MCP_BRIDGE_TOKEN{variable}": text}
            result = CliRunner().invoke(main, [*REGISTER, url], env=env)
            assert result.exit_code == 0, result.output
            assert json.loads(result.stdout)["metadata"]["name"] == "paged"
        for token in (None, "another"):
            with pytest.raises(ServerUnreachable, match="HEADRACE_MCP_BRIDGE_TOKEN"):
                describe(url, token=token)


def test_a_bridge_token_that_no_header_can_have_is_refused_without_showing_it() -> None:
    env = {"HEADRACE_MCP_BRIDGE_TOKEN": f"{TOKEN}\r\nX: y"}
    result = CliRunner().invoke(main, [*REGISTER, "http://127.0.0.1:9/mcp"], env=env)
    assert (result.exit_code, "HEADRACE_MCP_BRIDGE_TOKEN" in result.stderr) == (2, True)
    assert TOKEN not in result.output


def test_what_a_server_writes_to_its_standard_error_is_shown_escaped() -> None:
    code = r"import sys; sys.stderr.write('\x1b[31mread  read  taken\x07\nno end')"
    result = CliRunner().invoke(main, [*REGISTER, shlex.join([sys.executable, "-c", code])])
    assert result.exit_code == 4, result.output
    lines = result.stderr.splitlines()
    assert lines[:2] == [r"server: \x1b[31mread  read  taken\x07", "server: no end"]
    assert "\x1b" not in result.output


def test_a_line_without_an_end_is_shown_in_pieces() -> None:
    size = 5 * MAX_LINE_BYTES
    lines: list[str] = []

    async def write() -> None:
        async with stderr_lines(lines.append) as file:
            await asyncio.to_thread(print, "x" * size, "\N{SNOWMAN}\r", file=file, flush=True)

    asyncio.run(write())
    assert "".join(lines) == "x" * size + " \N{SNOWMAN}"
    assert len(lines) > 1
    assert max(map(len, lines)) < 2 * MAX_LINE_BYTES
