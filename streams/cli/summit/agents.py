"""`headrace summit-agents`."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import click

from streams.cli import common, lists
from streams.cli.summit.common import SummitCommand
from streams.settings import Settings

MAX_LIMIT = 500
_TITLES = ("agentId", "version", "role", "state", "capabilities", "tools")


@click.command("summit-agents", cls=SummitCommand)
@click.option("--role", metavar="R", help="Agents of this role.")
@click.option("--capability", metavar="C", help="Agents with this capability.")
@lists.options
def command(as_json: bool, **params: Any) -> None:
    """Show agents, their capabilities and tools.

    \b
    Example:
      headrace summit-agents --role researcher
    """
    params["limit"] = min(params["limit"], MAX_LIMIT)
    query = {name: value for name, value in params.items() if value is not None}
    answer = common.ask("/v1/summit/agents", urlencode(query), Settings.load())
    if as_json:
        common.show_json(answer)
        return
    common.show_table(_TITLES, [_row(item) for item in answer["items"]])
    lists.show_next(answer["next"])


def _row(item: Any) -> tuple[str, ...]:
    spec = item["manifest"]["spec"]
    names = [tool["name"] for tool in spec.get("tools", [])]
    several = (",".join(each) or "-" for each in (spec["capabilities"], names))
    return (item["agentId"], item["version"], spec["role"], item["state"], *several)
