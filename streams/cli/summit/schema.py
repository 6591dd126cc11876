"""`headrace summit schema`."""

from __future__ import annotations

import click

from streams.cli import common
from streams.cli.summit.common import SummitCommand, json_option
from streams.cli.summit.rpc import show_query


@click.command("schema", cls=SummitCommand)
@click.argument("agent")
@click.option("--version", metavar="V", help="Show this version instead of the current one.")
@json_option
@common.after_option
@click.pass_context
def command(
    ctx: click.Context, /, agent: str, version: str | None, as_json: bool, after: str | None
) -> None:
    """Show the input and output schemas of an agent, as `agent.schema` does; always JSON.

    \b
    Example:
      headrace summit schema word-stats
    """
    show_query(ctx, "agent.schema", after, agentId=agent, version=version)
