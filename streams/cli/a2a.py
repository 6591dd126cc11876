"""`headrace a2a`."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import click

from streams.cli import common, gateway_client, text
from streams.errors import GatewayUnavailable, NotFound
from streams.settings import Settings

_AGENTS = "/v1/a2a/agents"
_TITLES = ("agent", "version", "description", "card")


@click.group("a2a")
def command() -> None:
    """Show the agents that can be called by Agent2Agent (A2A).

    \b
    Examples:
      headrace a2a agents
      headrace a2a card word-stats
    """


@command.command("agents")
@gateway_client.url_option
@text.options
def agents() -> None:
    """Show the agents that can be called, and the addresses of their cards.

    \b
    Example:
      headrace a2a agents
    """
    settings = Settings.load()
    items: list[Any] = []
    following: str | None = ""
    while following is not None:
        page = common.ask_gateway(_AGENTS, f"limit=500{following}", settings)
        if isinstance(page, gateway_client.NoGateway):
            raise GatewayUnavailable(f"no gateway answers; {page.reason or 'start one'}")
        items += page["items"]
        following = None if page["next"] is None else f"&cursor={quote(page['next'])}"
    text.show({"items": items, "next": None}, _render, _pipe)


@command.command("card")
@click.argument("agent")
@gateway_client.url_option
def card(agent: str) -> None:
    """Print the card of an agent, as clients get it.

    \b
    Example:
      headrace a2a card word-stats
    """
    import httpx

    settings = Settings.load()
    url = gateway_client.find_running(settings)
    path = f"{url}/a2a/{quote(agent, safe='')}/.well-known/agent-card.json"
    headers = {} if settings.token is None else {"Authorization": f"Bearer {settings.token}"}
    response = httpx.get(path, headers=headers, timeout=gateway_client.CONNECT_S)
    body = response.json()
    if response.status_code != 200:
        raise NotFound(body["error"]["message"])
    common.show_json(body)


def _render(answer: Any, page: text.Page) -> None:
    rows = [
        (
            page.id(item["agentId"]),
            page.plain(item["version"]),
            page.message(item["description"]),
            page.plain(item["card"]),
        )
        for item in answer["items"]
    ]
    page.table(_TITLES, rows, what="agents")


def _pipe(answer: Any) -> None:
    names = ("agentId", "version", "description", "card")
    common.show_table(names, [tuple(item[name] for name in names) for item in answer["items"]])
