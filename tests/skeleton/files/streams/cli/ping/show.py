"""`headrace ping`."""

from __future__ import annotations

import click

from streams.cli import common
from streams.settings import Settings


@click.command("ping")
@click.argument("ping_id")
@common.after_option
def command(ping_id: str, after: str | None) -> None:
    """Show where a ping stands.

    \b
    Example:
      headrace ping p1
    """
    query = f"after={after}" if after else ""
    common.show_json(common.ask(f"/v1/ping/pings/{ping_id}", query, Settings.load()))
