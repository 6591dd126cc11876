"""`headrace apc trace`."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import click

from streams.cli import common
from streams.settings import Settings


@click.command("trace")
@click.option("--session-id", metavar="ID", help="Packets of this session.")
@click.option("--run-id", metavar="ID", help="Packets of this run.")
@click.option("--task-id", metavar="ID", help="Packets of this task.")
@click.option("--packet-id", metavar="UUID", help="This packet.")
@click.option("--packet-type", metavar="TYPE", help="Packets of this type, such as IDEA.")
@click.option("--run-phase", metavar="PHASE", help="Packets of this phase, such as DISCOVERY.")
@click.option("--trace-id", metavar="ID", help="Packets of this trace.")
@click.option("--limit", type=click.IntRange(1), default=200, show_default=True)
@click.option("--include-events/--no-events", default=True, help="Show histories.  [default: yes]")
@common.read_options
def command(include_events: bool, **filters: Any) -> None:
    """Show the newest matching packets, and their whole history.

    \b
    Examples:
      headrace apc trace --session-id sess-01
      headrace apc trace --run-id run-01 --packet-type IDEA --no-events
    """
    params = {name: value for name, value in filters.items() if value is not None}
    query = urlencode({**params, "include_events": str(include_events).lower()})
    common.show_json(common.ask("/v1/apc/packets", query, Settings.load()))
