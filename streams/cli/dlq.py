"""`headrace dlq`."""

from __future__ import annotations

import click

from streams.cli import common
from streams.errors import UsageError
from streams.settings import Settings


@click.group("dlq")
def command() -> None:
    """Look at dead letters: records that could not be judged.

    \b
    Example:
      headrace dlq list
    """


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def show_groups(as_json: bool) -> None:
    """Count dead letters by topic and code.

    \b
    Example:
      headrace dlq list --json
    """
    from streams.dead_letters import groups

    settings = Settings.load()
    with common.connect(settings) as log:
        found = groups(log, settings.prefix)
    if as_json:
        for group in found:
            click.echo(common.json_line(group))
        return
    if not found:
        click.echo("no dead letters")
        return
    titles = ("topic", "code", "count", "last", "position", "message")
    common.show_table(titles, [tuple(group[title] for title in titles) for group in found])


@command.command("show")
@click.argument("position")
def show_one(position: str) -> None:
    """Show one dead letter, by its own position or by that of the record it came from.

    \b
    Example:
      headrace dlq show apc.packets/0/17
    """
    from streams.dead_letters import one
    from streams.views import QueryError, parse_position

    settings = Settings.load()
    try:
        wanted = parse_position(position)
    except QueryError as exc:
        raise UsageError(f"{position} is not a position, topic/partition/offset") from exc
    with common.connect(settings) as log:
        common.show_json(one(log, wanted, settings.prefix))
