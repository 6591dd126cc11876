"""`headrace summit withdraw`."""

from __future__ import annotations

from urllib.parse import quote

import click

from streams.cli import text
from streams.cli.summit.common import (
    SummitCommand,
    exit_if_rejected,
    open_routes,
    refusal_of,
    send_envelopes,
    show_verdicts,
    verdicts_of,
)
from streams.settings import Settings


@click.command("withdraw", cls=SummitCommand)
@click.argument("agent")
@text.options
@click.pass_context
def command(ctx: click.Context, /, agent: str) -> None:
    """Withdraw an agent: it accepts no new calls, and continues its open runs.

    \b
    Example:
      headrace summit withdraw word-stats
    """
    with open_routes(Settings.load()) as routes:
        answer = send_envelopes(routes, "DELETE", f"/v1/summit/manifests/{quote(agent, safe='')}")
    verdicts = verdicts_of(ctx, answer)
    rows = [(agent, fact["verdict"], fact["rule"]) for fact in verdicts]
    show_verdicts(answer, ("agentId", "verdict", "rule"), rows, [*map(refusal_of, verdicts)])
    exit_if_rejected(ctx, verdicts)
