"""`headrace summit-withdraw`."""

from __future__ import annotations

from urllib.parse import quote

import click

from streams.cli import common
from streams.cli.summit.common import SummitCommand, json_option, judged, leave, routes_over, sent
from streams.settings import Settings


@click.command("summit-withdraw", cls=SummitCommand)
@click.argument("agent")
@json_option
@click.pass_context
def command(ctx: click.Context, /, agent: str, as_json: bool) -> None:
    """Withdraw an agent: it accepts no new calls, and continues its open runs.

    \b
    Example:
      headrace summit-withdraw word-stats
    """
    with routes_over(Settings.load()) as routes:
        answer = sent(routes, "DELETE", f"/v1/summit/manifests/{quote(agent, safe='')}")
    verdicts = judged(ctx, answer)
    if as_json:
        common.show_json(answer)
    else:
        rows = [(agent, fact["verdict"], fact["rule"]) for fact in verdicts]
        common.show_table(("agentId", "verdict", "rule"), list(rows))
    leave(ctx, verdicts)
