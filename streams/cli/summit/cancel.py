"""`headrace summit cancel`."""

from __future__ import annotations

from typing import Any

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

_CANCELLED = "cancelled"


@click.command("cancel", cls=SummitCommand)
@click.argument("run")
@click.option("--reason", metavar="TEXT", help="Reason, sent to the agent.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, run: str, reason: str | None, as_json: bool) -> None:
    """Cancel a run, as an operator, and wait for the verdict.

    \b
    Example:
      headrace summit cancel run-7f2 --reason 'asked twice'
    """
    from schemas.summit.words import CANCEL_METHOD, OPERATOR
    from streams.protocols.summit.queries.runs import status

    params = {"runId": run, **({} if reason is None else {"reason": reason})}
    request = {"jsonrpc": "2.0", "method": CANCEL_METHOD, "params": params, "caller": OPERATOR}
    with open_routes(Settings.load()) as routes:
        answer = send_envelopes(routes, "POST", "/v1/summit/calls", {**request, "id": "cli"})
        (fact,) = verdicts = verdicts_of(ctx, answer)
        state = _state(fact) or status(routes.view, run) or "-"
    if as_json:
        common.show_json(answer)
    else:
        common.show_table(("runId", "status", "rule"), [(run, state, fact["rule"])])
    exit_if_rejected(ctx, verdicts)


def _state(fact: Any) -> str | None:
    """Return the state that the verdict implies for the run, None if it implies none."""
    return None if fact["verdict"] == "rejected" else _CANCELLED
