"""`headrace summit call-tool`."""

from __future__ import annotations

import uuid
from typing import Any

import click

from streams.cli.summit import calls
from streams.cli.summit.common import SummitCommand, parse_argument


@click.command("call-tool", cls=SummitCommand)
@click.argument("agent")
@click.argument("tool")
@click.option(
    "--arguments",
    metavar="JSON|@FILE",
    required=True,
    help="Arguments of the tool.",
)
@click.option("--call-id", metavar="ID", help="Returned with the result.  [default: a uuid4]")
@calls.options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    agent: str,
    tool: str,
    arguments: str,
    call_id: str | None,
    **options: Any,
) -> None:
    """Call a tool of an agent, wait, and print the ToolResult; the runId is printed on stderr.

    Exits as summit-invoke does.

    \b
    Example:
      headrace summit call-tool word-stats slugify --arguments '{"title": "To Be"}'
    """
    tool_call_id = str(uuid.uuid4()) if call_id is None else call_id
    tool_call = {"id": tool_call_id, "name": tool, "arguments": parse_argument(arguments)}
    calls.call(ctx, "tool.call", {"agentId": agent, "toolCall": tool_call}, options)
