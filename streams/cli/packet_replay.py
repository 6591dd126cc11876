"""`headrace packet-replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import click

from streams.cli import common
from streams.settings import Settings


@click.command("packet-replay")
@click.option("--run-id", metavar="ID", required=True, help="The run.")
@click.option("--session-id", metavar="ID", help="Only packets of this session.")
@click.option("--task-id", metavar="ID", help="Only packets of this task.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=500,
    show_default=True,
    help="Most rows of event_stream.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the same JSON to this file too.",
)
@common.after_option
def command(out: Path | None, **wanted: Any) -> None:
    """Show a run: its packets in log order, and every step of all of them in one stream.

    \b
    Example:
      headrace packet-replay --run-id run-01 --out replay.json
    """
    query = urlencode({name: value for name, value in wanted.items() if value is not None})
    text = common.json_text(common.ask("/v1/apc/replay", query, Settings.load()))
    click.echo(text)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text + "\n")
        click.echo(f"wrote {out}", err=True)
