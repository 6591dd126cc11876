"""`headrace summit schema`."""

from __future__ import annotations

from typing import Any

import click

from streams.cli import common, lists, text
from streams.cli.summit.common import SummitCommand
from streams.cli.summit.rpc import show_query
from streams.cli.summit.schema_text import show_schema


@click.command("schema", cls=SummitCommand)
@click.argument("agent")
@click.option("--version", metavar="V", help="Show this version instead of the current one.")
@text.options
@common.read_options
@click.pass_context
def command(ctx: click.Context, /, agent: str, version: str | None, after: str | None) -> None:
    """Show the input and output schemas of an agent, in a pipe as JSON, as `agent.schema` does.

    \b
    Example:
      headrace summit schema word-stats
    """
    show_query(ctx, "agent.schema", after, _render, agentId=agent, version=version)


def _render(answer: Any, page: text.Page) -> None:
    schemas = [name for name in answer if name.endswith("Schema")]
    others = {name: value for name, value in answer.items() if name not in schemas}
    others["tools"] = [tool["name"] for tool in answer["tools"]]
    lists.show_member_lines(page, others)
    for name in schemas:
        page.line()
        page.line(page.plain(name, "bold"))
        show_schema(answer[name], page, indent=2)
