"""`headrace summit tools`."""

from __future__ import annotations

import click

from streams.cli import lists
from streams.cli.summit.agents import MAX_LIMIT
from streams.cli.summit.common import SummitCommand
from streams.cli.summit.rpc import show_query


@click.command("tools", cls=SummitCommand)
@click.argument("agent", required=False)
@click.option("--mcp", is_flag=True, help="In MCP's form: `inputSchema` for `arguments`.")
@lists.options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    agent: str | None,
    mcp: bool,
    after: str | None,
    cursor: str | None,
    limit: int,
) -> None:
    """Show the tools of agents, as `tool.list` does; always JSON.

    \b
    Examples:
      headrace summit tools
      headrace summit tools word-stats --mcp
    """
    params = {"agentId": agent, "dialect": "mcp" if mcp else None, "limit": min(limit, MAX_LIMIT)}
    show_query(ctx, "tool.list", after, cursor=cursor, **params)
