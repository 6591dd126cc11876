"""`headrace apc replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from streams.cli import common, text
from streams.cli.apc import rendering
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
@text.options
@common.read_options
def command(out: Path | None, **params: Any) -> None:
    """Show a run: its packets in log order, and all their transitions in one stream.

    \b
    Example:
      headrace apc replay --run-id run-01 --out replay.json
    """
    answer = common.ask("/v1/apc/replay", common.query_of(params), Settings.load())
    text.show(answer, rendering.render_replay)
    if out is not None:
        common.write_json(answer, out)
