"""`headrace summit invoke`."""

from __future__ import annotations

from typing import Any

import click

from streams.cli.summit import calls
from streams.cli.summit.common import SummitCommand, parse_argument


@click.command("invoke", cls=SummitCommand)
@click.argument("agent")
@click.option(
    "--inputs",
    metavar="JSON|@FILE",
    required=True,
    help="Inputs of the agent.",
)
@calls.options
@click.pass_context
def command(ctx: click.Context, /, agent: str, inputs: str, **options: Any) -> None:
    """Call an agent, wait for the end, and print the RunResult; the runId is printed on stderr.

    In a pipe the result is JSON.  Exits with 1 when the call is rejected or the run does not
    complete, and with 3 while the run has not ended.

    \b
    Example:
      headrace summit invoke word-stats --inputs '{"text": "to be or not to be"}' --usd 0.5
    """
    calls.call(ctx, "agent.invoke", {"agentId": agent, "inputs": parse_argument(inputs)}, options)
