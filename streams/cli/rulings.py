"""The commands `headrace verdicts`, `agents` and `search`, over all protocols."""

from __future__ import annotations

from typing import Any

import click

from streams.cli import common, lists, text
from streams.cli.cells import Cell, Row
from streams.cli.lists import Column
from streams.settings import Settings

_PROTOCOLS = click.Choice(["apc", "saop", "sap", "asap", "summit", "otel"])
_AGENT = (
    *lists.columns("agent", "protocol"),
    Column("accepted", "accepted", "number"),
    Column("duplicate", "duplicate", "number"),
    Column("refused", "rejected", "number"),
    Column("last", "last_at", "time"),
    Column("last rule", "last_rule", "plain"),
)
_RESULT = (
    *lists.columns("match", "kind", "title", "state", "at"),
    Column("node", "node", "plain"),
)
_WIDE = 140
"""The width from which the agent has a column of its own."""
_RESULTS = "things, traces, agents or positions"


@click.command("verdicts")
@click.option("--protocol", type=_PROTOCOLS, help="Of this protocol.")
@click.option("--verdict", type=click.Choice(["rejected", "duplicate"]), help="Only these.")
@click.option("--rule", metavar="CODE", help="Decided by this rule.")
@click.option(
    "--fault",
    type=click.Choice(["sender", "service", "infrastructure"]),
    help="Whose fault it is.",
)
@click.option("--principal", metavar="NAME", help="Sent by this principal.")
@click.option("--agent", metavar="ID", help="Sent by this agent.")
@click.option("--from", "from_", metavar="TIME", help="Not earlier, ISO 8601.")
@click.option("--to", metavar="TIME", help="Earlier than this, ISO 8601.")
@lists.options
def verdicts(from_: str | None, **params: Any) -> None:
    """Show refused and duplicate records of all protocols, the newest first.

    \b
    Example:
      headrace verdicts --protocol apc --rule phase_type
    """
    query = common.query_of({**params, "from": from_})
    text.show(common.ask("/v1/verdicts", query, Settings.load()), _render_verdicts, pipe=None)


def _render_verdicts(answer: Any, page: text.Page) -> None:
    titles = ("time", "protocol", "record", "verdict")
    agent = ("agent",) if page.fits(_WIDE) else ()
    others = () if page.is_narrow else ("rule", *agent, "cause")
    rows = [_verdict_row(each, page) for each in answer["items"]]
    page.table((*titles, *others), rows, what="refused or duplicate records")
    page.more(len(answer["items"]), answer["next"])


def _verdict_row(each: Any, page: text.Page) -> Row:
    """Return a row; a narrow page has cause and rule beside the message below it."""
    cells = [
        page.time(each["at"]),
        page.plain(each["protocol"]),
        page.id(each["title"]),
        page.verdict(each["verdict"]),
    ]
    rule, cause, message = page.plain(each["rule"]), page.plain(each["cause"]), each["message"]
    if page.is_narrow:
        is_named = (message or "").startswith(each["rule"] or "")
        reason = page.message(message if is_named else f"{each['rule']}: {message or page.dash}")
        return Row(cells, page.note(cause, reason))
    agent = [page.id(each["agent"])] if page.fits(_WIDE) else []
    return Row([*cells, rule, *agent, cause], page.note(page.message(message)) if message else None)


@click.command("agents")
@click.option("--protocol", type=_PROTOCOLS, help="In this protocol.")
@click.option("--q", metavar="TEXT", help="Whose id contains this text.")
@click.option("--from", "from", metavar="TIME", help="Who have sent since, ISO 8601.")
@lists.options
def agents(**params: Any) -> None:
    """Show who sends, and what becomes of it, the latest first.

    \b
    Example:
      headrace agents --protocol apc
    """
    lists.show("/v1/agents", "agents", _AGENT, text_table=_AGENTS, **params)


def _agent_row(each: Any, page: text.Page) -> list[Cell]:
    """Return the cells of an agent; its id, which one copies, is cut after the rule only."""
    return [
        page.plain(each["agent"]),
        page.plain(each["protocol"]),
        page.number(each["accepted"]),
        page.number(each["duplicate"]),
        page.number(each["rejected"]),
        page.time(each["last_at"]),
        page.message(each["last_rule"]),
    ]


_AGENTS = lists.TextTable([column.title for column in _AGENT], _agent_row)


@click.command("search")
@click.argument("q", metavar="TEXT")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True)
@text.options
@common.read_options
def search(**params: Any) -> None:
    """Find things, traces, agents and positions by an id or its beginning.

    TEXT has 3 characters or more.  Exits with 1 if nothing is found.

    \b
    Example:
      headrace search 7f0c2f5d
    """
    answer = common.ask("/v1/search", common.query_of(params), Settings.load())

    def render(answer: Any, page: text.Page) -> None:
        if page.is_narrow:
            _render_results(answer["items"], page)
        else:
            lists.show_text(page, _RESULT, answer["items"], _RESULTS)

    text.show(answer, render, pipe=None)
    if not answer["items"]:
        raise SystemExit(1)


def _render_results(items: Any, page: text.Page) -> None:
    """Print results with their nodes below, which is what one copies."""
    rows = [
        Row(
            [
                page.plain(each["match"]),
                page.plain(each["kind"]),
                page.id(each["title"]),
                page.plain(each["state"]),
                page.time(each["at"]),
            ],
            note=page.message(each["node"], "dim"),
        )
        for each in items
    ]
    page.table([column.title for column in _RESULT[:-1]], rows, what=_RESULTS)
