"""`headrace mcp bridge`."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

import click

from streams.cli import common
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.agents.mcp.bridge import BridgeOptions


@click.command("bridge")
@click.option("--url", metavar="URL", help="The server's address.")
@click.option("--command", "command_line", metavar="CMD", help="The command line of the server.")
@click.option("--summit", metavar="AGENT", help="Answer the runs of this Summit agent.")
@click.option("--register", is_flag=True, help="Register that agent's manifest first.")
@click.option("--asap", metavar="URN", help="Answer MCP calls to this ASAP agent.")
@click.option(
    "--timeout-s",
    type=click.FloatRange(1, 3600),
    default=120.0,
    show_default=True,
    metavar="S",
    help="How long a call may take, in seconds.",
)
@click.option("--env", metavar="NAME", multiple=True, help="Pass this variable to the command.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 256),
    default=4,
    show_default=True,
    metavar="N",
    help="Calls at a time, of each agent.",
)
def bridge(url: str | None, command_line: str | None, **options: Any) -> None:
    """Serve the tools of a real MCP server as an agent of Summit or ASAP.

    Runs and calls come from Kafka, and each is one call of the server.  A call that a crash has
    left in doubt is made again only if the tool's annotations say that this does no harm; keep the
    state directory, which remembers the calls.  SIGTERM ends it once the calls that it has begun
    are answered, a second one at once.

    Exits with 1 when the manifest is rejected or the agent is not registered, 2 for bad usage, 3
    when the server or Kafka is not reached, or another bridge has the agent.

    \b
    Examples:
      headrace mcp bridge --url https://tickets.example/mcp --summit tickets --register
      headrace mcp bridge --command "docs-server --root /srv" --asap urn:asap:agent:docs
    """
    from streams.agents.mcp.bridge import BridgeOptions

    if (url is None) == (command_line is None):
        raise click.UsageError("Give --url or --command.")
    if options["summit"] is None and options["asap"] is None:
        raise click.UsageError("Give --summit, --asap or both.")
    if options["register"] and options["summit"] is None:
        raise click.UsageError("--register is for --summit.")
    source = url if url is not None else str(command_line)
    asyncio.run(_bridge(BridgeOptions(source, **options), Settings.load()))


async def _bridge(options: BridgeOptions, settings: Settings) -> None:
    """Bridge until SIGINT or SIGTERM; the second one ends it at once."""
    from streams.agents.mcp.bridge import Bridge

    stop = asyncio.Event()
    bridge = Bridge(options, settings, _show_stderr, common.echo, _warn, stop)
    bridging = asyncio.create_task(bridge.run())

    def on_signal() -> None:
        if stop.is_set() or not bridge.is_ready:
            bridging.cancel()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, on_signal)
    try:
        await bridging
    except asyncio.CancelledError:
        stop.set()
    if stop.is_set():
        _warn("stopped")


def _show_stderr(line: str) -> None:
    common.echo(f"server: {line}", err=True)


def _warn(message: str) -> None:
    common.echo(message, err=True)
