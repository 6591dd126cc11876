"""`headrace summit show`."""

from __future__ import annotations

import click

from streams.cli import common
from streams.cli.summit.common import PENDING, REJECTED, SummitCommand, json_option
from streams.cli.summit.rpc import show_query


@click.command("show", cls=SummitCommand)
@click.argument("run")
@json_option
@common.after_option
@click.pass_context
def command(ctx: click.Context, /, run: str, as_json: bool, after: str | None) -> None:
    """Show the state of a run, as `agent.status` does; always JSON.

    Exits with 0 when the run is completed, 1 when it ended otherwise or does not exist, 3 while it
    has not ended.

    \b
    Example:
      headrace summit show run-7f2
    """
    from schemas.summit.words import COMPLETED, TERMINAL

    status = show_query(ctx, "agent.status", after, runId=run)["status"]
    if status != COMPLETED:
        ctx.exit(REJECTED if status in TERMINAL else PENDING)
