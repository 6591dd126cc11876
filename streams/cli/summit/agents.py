"""`headrace summit agents`."""

from __future__ import annotations

from typing import Any

import click

from streams.cli import common, lists, text
from streams.cli.summit.common import SummitCommand
from streams.settings import Settings

MAX_LIMIT = 500
_TITLES = ("agentId", "version", "role", "state", "capabilities", "tools")
_TEXT_TITLES = ("agent", *_TITLES[1:])


@click.command("agents", cls=SummitCommand)
@click.option("--role", metavar="R", help="Agents of this role.")
@click.option("--capability", metavar="C", help="Agents with this capability.")
@click.option(
    "--state", type=click.Choice(["registered", "withdrawn"]), help="Agents in this state."
)
@lists.options
def command(**params: Any) -> None:
    """Show agents, their capabilities and tools.

    \b
    Example:
      headrace summit agents --role researcher
    """
    params["limit"] = min(params["limit"], MAX_LIMIT)
    answer = common.ask("/v1/summit/agents", common.query_of(params), Settings.load())
    text.show(answer, _render, _pipe)


def _render(answer: Any, page: text.Page) -> None:
    rows = [_text_row(item, page) for item in answer["items"]]
    page.table(_TEXT_TITLES, rows, what="agents")
    page.more(len(answer["items"]), answer["next"])


def _text_row(item: Any, page: text.Page) -> tuple[Any, ...]:
    agent, version, role, state, capabilities, tools = _row(item)
    return (
        page.id(agent),
        page.plain(version),
        page.plain(role),
        page.plain(state),
        page.message(capabilities.replace(",", ", ")),
        page.message(tools.replace(",", ", ")),
    )


def _pipe(answer: Any) -> None:
    common.show_table(_TITLES, [_row(item) for item in answer["items"]])
    lists.show_next(answer["next"])


def _row(item: Any) -> tuple[str, ...]:
    spec = item["manifest"]["spec"]
    names = [tool["name"] for tool in spec.get("tools", [])]
    several = (",".join(each) or "-" for each in (spec["capabilities"], names))
    return (item["agentId"], item["version"], spec["role"], item["state"], *several)
