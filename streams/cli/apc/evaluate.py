"""`headrace apc evaluate`."""

from __future__ import annotations

from pathlib import Path

import click

from streams.cli import common, text
from streams.cli.apc import rendering
from streams.settings import Settings


@click.command("evaluate")
@click.option(
    "--packet-in",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help="An EVAL packet or a metric set: YAML if it ends in .yaml or .yml, else JSON.",
)
@text.options
@click.pass_context
def command(ctx: click.Context, packet_in: Path) -> None:
    """Check metrics against the promotion gates, offline.  Exits with 1 when a gate is not met.

    \b
    Example:
      headrace apc evaluate --packet-in eval.json
    """
    from streams.protocols.apc.queries.trial import evaluate

    answer = evaluate(common.read_value(packet_in), common.now_ms(), Settings.load())
    text.show(answer, rendering.render_evaluation)
    if not answer["promotable"]:
        ctx.exit(1)
