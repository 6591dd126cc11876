"""`headrace mcp`."""

from __future__ import annotations

import asyncio
import shutil
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any

import click

from streams.cli import common, gateway_client
from streams.cli.mcp_bridge import bridge
from streams.settings import Settings


@click.group("mcp", invoke_without_command=True)
@click.option("--url", metavar="URL", help="Relay to this gateway.  [default: as other commands]")
@click.option("--config", is_flag=True, help="Print what MCP hosts take as their configuration.")
@click.pass_context
def command(ctx: click.Context, url: str | None, config: bool) -> None:
    """Serve the Model Context Protocol over standard input and output.

    Each message goes to the gateway's /mcp, with the token of HEADRACE_TOKEN.  The gateway is that
    of --url or HEADRACE_URL, else one that runs here.  MCP hosts start this command by themselves;
    docs/mcp.md has the configuration of some.

    \b
    Examples:
      headrace mcp --config
      headrace mcp --url http://127.0.0.1:8640
      headrace mcp bridge --url https://tickets.example/mcp --summit tickets --register
    """
    if ctx.invoked_subcommand is not None:
        if url is not None or config:
            raise click.UsageError("--url and --config of `headrace mcp` go without a command.")
        return
    overrides: dict[str, Any] = {} if url is None else {"url": url}
    settings = Settings.load(**overrides)
    if config:
        common.show_json(describe_host(settings))
        return
    asyncio.run(_relay(gateway_client.find_running(settings), settings))


command.add_command(bridge)


def describe_host(settings: Settings) -> dict[str, Any]:
    """Return the entry of a host's configuration; it names no token."""
    command = shutil.which("headrace") or sys.argv[0]
    env = {} if settings.url is None else {"HEADRACE_URL": settings.url}
    if settings.token is not None:
        env["HEADRACE_TOKEN"] = "hr_…"
    return {"mcpServers": {"headrace": {"command": command, "args": ["mcp"], "env": env}}}


async def _relay(url: str, settings: Settings) -> None:
    from streams.doors.mcp.relay import Relay

    await Relay(url, settings.token, _write_line).run(_read_lines())


def _write_line(message: bytes) -> None:
    sys.stdout.buffer.write(message + b"\n")
    sys.stdout.buffer.flush()


async def _read_lines() -> AsyncIterator[bytes]:
    """Yield the lines of standard input; a thread reads them, which ends with the process."""
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[bytes]()

    def read() -> None:
        for line in sys.stdin.buffer:
            loop.call_soon_threadsafe(lines.put_nowait, line)
        loop.call_soon_threadsafe(lines.put_nowait, b"")

    threading.Thread(target=read, daemon=True, name="stdin").start()
    while line := await lines.get():
        yield line
