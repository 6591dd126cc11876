"""`headrace summit tools`."""

from __future__ import annotations

from typing import Any

import click

from streams.cli import lists, text
from streams.cli.summit.agents import MAX_LIMIT
from streams.cli.summit.common import SummitCommand
from streams.cli.summit.rpc import show_query
from streams.cli.summit.schema_text import show_schema


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
    """Show the tools of agents, in a pipe as JSON, as `tool.list` does.

    \b
    Examples:
      headrace summit tools
      headrace summit tools word-stats --mcp
    """
    params = {"agentId": agent, "dialect": "mcp" if mcp else None, "limit": min(limit, MAX_LIMIT)}
    show_query(ctx, "tool.list", after, _render, cursor=cursor, **params)


def _render(answer: Any, page: text.Page) -> None:
    for tool in answer["tools"]:
        agent = [page.joined("of", page.plain(tool["agentId"]))] if "agentId" in tool else []
        page.line(page.plain(tool["name"], "bold"), *agent, page.message(tool.get("description")))
        show_schema(tool.get("arguments") or tool.get("inputSchema"), page, indent=2)
    if not answer["tools"]:
        page.none("tools")
    page.more(len(answer["tools"]), answer["nextCursor"])
