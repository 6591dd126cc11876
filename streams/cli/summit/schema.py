"""`headrace summit-schema`."""

from __future__ import annotations

import click

from streams.cli import common
from streams.cli.summit.common import SummitCommand, json_option
from streams.cli.summit.rpc import show_query


@click.command("summit-schema", cls=SummitCommand)
@click.argument("agent")
@click.option("--version", metavar="V", help="This version, instead of the one in force.")
@json_option
@common.after_option
@click.pass_context
def command(
    ctx: click.Context, /, agent: str, version: str | None, as_json: bool, after: str | None
) -> None:
    """Show what an agent takes and gives, as `agent.schema` does; it is JSON anyway.

    \b
    Example:
      headrace summit-schema word-stats
    """
    show_query(ctx, "agent.schema", after, agentId=agent, version=version)
