"""`headrace ping show`."""

from __future__ import annotations

import click

from streams.cli import common
from streams.settings import Settings


@click.command("show")
@click.argument("ping_id")
@common.read_options
def command(ping_id: str, after: str | None) -> None:
    """Show where a ping stands.

    \b
    Example:
      headrace ping show p1
    """
    query = common.query_of({"after": after})
    common.show_json(common.ask(f"/v1/ping/pings/{ping_id}", query, Settings.load()))
