"""`headrace apc lineage`."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import click

from streams.cli import common
from streams.settings import Settings


@click.command("lineage")
@click.option("--session-id", metavar="ID", help="Packets of this session.")
@click.option("--project-id", metavar="ID", help="Packets of this project.")
@click.option("--run-id", metavar="ID", help="Packets of this run.")
@click.option("--protocol-id", metavar="ID", help="This protocol and its packets.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Maximum number of rows of a list.",
)
@common.read_options
def command(**params: Any) -> None:
    """Show how protocols spread, the results of their transfers, and the arbitrations.

    Counts only packets that were not rejected, expired or retracted.

    \b
    Examples:
      headrace apc lineage --run-id run-01
      headrace apc lineage --protocol-id proto-7 --limit 10
    """
    query = urlencode({name: value for name, value in params.items() if value is not None})
    common.show_json(common.ask("/v1/lineage/summary", query, Settings.load()))
