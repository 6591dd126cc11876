"""`headrace apc replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import click

from streams.cli import common
from streams.settings import Settings


@click.command("replay")
@click.option("--run-id", metavar="ID", required=True, help="The run.")
@click.option("--session-id", metavar="ID", help="Only packets of this session.")
@click.option("--task-id", metavar="ID", help="Only packets of this task.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=500,
    show_default=True,
    help="Maximum number of rows of event_stream.",
)
@common.out_option
@common.read_options
def command(out: Path | None, **params: Any) -> None:
    """Show a run: its packets in log order, and all their transitions in one stream.

    \b
    Example:
      headrace apc replay --run-id run-01 --out replay.json
    """
    query = urlencode({name: value for name, value in params.items() if value is not None})
    common.show_json(common.ask("/v1/apc/replay", query, Settings.load()), out)
