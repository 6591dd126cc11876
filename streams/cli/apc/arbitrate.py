"""`headrace apc arbitrate`."""

from __future__ import annotations

from pathlib import Path

import click

from streams.cli import common, text
from streams.cli.apc import rendering
from streams.settings import Settings


@click.command("arbitrate")
@click.option(
    "--packets-in",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help="Packets, as a list or under `packets`: YAML if it ends in .yaml or .yml, else JSON.",
)
@click.option("--top-k", type=int, default=2, show_default=True, help="How many to select.")
@common.out_option
@text.options
def command(packets_in: Path, top_k: int, out: Path | None) -> None:
    """Rank unsent TRANSFER packets, offline, and select the best.

    Each packet is checked only by the rules that need no other records.

    \b
    Example:
      headrace apc arbitrate --packets-in transfers.json --top-k 1
    """
    from streams.protocols.apc.queries.trial import arbitrate

    value = common.read_value(packets_in)
    answer = arbitrate(value, top_k, common.now_ms(), Settings.load())
    text.show(answer, rendering.render_arbitration)
    if out is not None:
        common.write_json(answer, out)
