"""`headrace summit judge`."""

from __future__ import annotations

import uuid
from typing import Any

import click

from streams.cli import common, text
from streams.cli.summit.common import (
    SummitCommand,
    exit_if_rejected,
    open_routes,
    refusal_of,
    send_envelopes,
    show_verdicts,
    verdicts_of,
)
from streams.engine.headers import iso
from streams.settings import Settings

_TITLES = ("runId", "verdict", "rule", "verificationStatus")


def _checks(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> list[Any]:
    checks = []
    for value in values:
        name, _, passed = value.rpartition("=")
        if not name or passed not in ("true", "false"):
            raise click.BadParameter(f"NAME=true or NAME=false, not {value}")
        checks.append({"name": name, "passed": passed == "true"})
    return checks


@click.command("judge", cls=SummitCommand)
@click.argument("run")
@click.option("--agent", metavar="CRITIC", required=True, help="The critic.")
@click.option("--status", metavar="S", required=True, help="passed, flagged or failed.")
@click.option("--score", type=float, metavar="N", help="Score from 0 to 1.")
@click.option("--check", "checks", multiple=True, callback=_checks, metavar="NAME=true|false")
@click.option(
    "--model", metavar="M", default="none", show_default=True, help="Model that the critic used."
)
@text.options
@click.pass_context
def command(ctx: click.Context, /, run: str, **members: Any) -> None:
    """Review the output of a completed run, as a critic, and wait for the verdict on the review.

    \b
    Example:
      headrace summit judge run-7f2 --agent fact-check --status passed --check sources=true
    """
    reply = _reply(run, **members)
    with open_routes(Settings.load()) as routes:
        answer = send_envelopes(routes, "POST", "/v1/summit/replies", reply)
        (fact,) = verdicts = verdicts_of(ctx, answer)
        row = _row(routes.view, run, fact)
    show_verdicts(answer, _TITLES, [row], [refusal_of(fact)])
    exit_if_rejected(ctx, verdicts)


def _reply(
    run: str, agent: str, status: str, score: float | None, checks: list[Any], model: str
) -> dict[str, Any]:
    verification: dict[str, Any] = {"status": status}
    verification |= {} if score is None else {"score": score}
    verification |= {"checks": checks} if checks else {}
    return {
        "replyId": f"cli-{uuid.uuid4()}",
        "runId": run,
        "agentId": agent,
        "kind": "verification",
        "verification": verification,
        "provenance": {"model": model, "timestamp": iso(common.now_ms()).decode()},
    }


def _row(view: Any, run: str, fact: Any) -> tuple[str, ...]:
    from streams.errors import NotFound
    from streams.protocols.summit.queries import runs

    try:
        status = runs.run(view, run)["verificationStatus"]
    except NotFound:
        status = None
    return (run, fact["verdict"], fact["rule"], status or "-")
