"""`headrace summit cancel`."""

from __future__ import annotations

from typing import Any

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

_CANCELLED = "cancelled"


@click.command("cancel", cls=SummitCommand)
@click.argument("run")
@click.option("--reason", metavar="TEXT", help="Reason, sent to the agent.")
@text.options
@click.pass_context
def command(ctx: click.Context, /, run: str, reason: str | None) -> None:
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
    rows = [(run, state, fact["rule"])]
    show_verdicts(answer, ("runId", "status", "rule"), rows, [refusal_of(fact)])
    exit_if_rejected(ctx, verdicts)


def _state(fact: Any) -> str | None:
    """Return the state that the verdict implies for the run, None if it implies none."""
    return None if fact["verdict"] == "rejected" else _CANCELLED
