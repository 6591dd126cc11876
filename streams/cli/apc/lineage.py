"""`headrace apc lineage`."""

from __future__ import annotations

from typing import Any

import click

from streams.cli import common, text
from streams.cli.apc import rendering
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
@text.options
@common.read_options
def command(**params: Any) -> None:
    """Show how protocols spread, the results of their transfers, and the arbitrations.

    Counts only packets that were not rejected, expired or retracted.

    \b
    Examples:
      headrace apc lineage --run-id run-01
      headrace apc lineage --protocol-id proto-7 --limit 10
    """
    answer = common.ask("/v1/lineage/summary", common.query_of(params), Settings.load())
    text.show(answer, rendering.render_summary)
