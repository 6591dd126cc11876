"""`headrace summit withdraw`."""

from __future__ import annotations

from urllib.parse import quote

import click

from streams.cli import common
from streams.cli.summit.common import (
    SummitCommand,
    exit_if_rejected,
    json_option,
    open_routes,
    send_envelopes,
    verdicts_of,
)
from streams.settings import Settings


@click.command("withdraw", cls=SummitCommand)
@click.argument("agent")
@json_option
@click.pass_context
def command(ctx: click.Context, /, agent: str, as_json: bool) -> None:
    """Withdraw an agent: it accepts no new calls, and continues its open runs.

    \b
    Example:
      headrace summit withdraw word-stats
    """
    with open_routes(Settings.load()) as routes:
        answer = send_envelopes(routes, "DELETE", f"/v1/summit/manifests/{quote(agent, safe='')}")
    verdicts = verdicts_of(ctx, answer)
    if as_json:
        common.show_json(answer)
    else:
        rows = [(agent, fact["verdict"], fact["rule"]) for fact in verdicts]
        common.show_table(("agentId", "verdict", "rule"), list(rows))
    exit_if_rejected(ctx, verdicts)
