"""What `headrace summit-invoke` and `headrace summit-call-tool` do alike."""

from __future__ import annotations

import uuid
from typing import Any

import click

from streams.cli import common
from streams.cli.summit.common import REJECTED
from streams.cli.summit.rpc import calling, result_of
from streams.settings import Settings


def options(function: Any) -> Any:
    """Those of every call."""
    for option in (
        click.option(
            "--json", "as_json", is_flag=True, help="No effect: the output is always JSON."
        ),
        click.option(
            "--wait",
            type=click.IntRange(0),
            metavar="N",
            help="Wait up to N seconds for the end.  [default: HEADRACE_SUMMIT_WAIT_S]",
        ),
        click.option("--parent", metavar="ID", help="The parent run."),
        click.option("--trace", metavar="ID", help="The trace."),
        click.option("--seconds", type=float, metavar="N", help="Maximum time."),
        click.option("--tokens", type=int, metavar="N", help="Maximum number of tokens."),
        click.option("--usd", type=float, metavar="N", help="Maximum cost."),
        click.option("--run-id", metavar="ID", help="Id of the new run.  [default: cli-<uuid4>]"),
    ):
        function = option(function)
    return function


def call(ctx: click.Context, method: str, params: dict[str, Any], given: dict[str, Any]) -> None:
    """Make a run, print its id on stderr and its result; exits with 1 unless it completes.

    given: the options.
    """
    run_id = f"cli-{uuid.uuid4()}" if given["run_id"] is None else given["run_id"]
    context = _present(
        traceId=given["trace"],
        parentRunId=given["parent"],
        budget=_present(**{name: _number(given[name]) for name in ("usd", "tokens", "seconds")}),
    )
    asked = {**params, "runId": run_id, **_present(context=context)}
    wait = {} if given["wait"] is None else {"Prefer": f"wait={given['wait']}"}
    click.echo(run_id, err=True)
    with calling(Settings.load()) as ask:
        result = result_of(ctx, ask(method, asked, wait))
    common.show_json(result)
    if "error" in result:
        ctx.exit(REJECTED)


def _present(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value not in (None, {})}


def _number(value: float | None) -> float | None:
    """1.0 as 1; what is too large for that is for the rules to say."""
    from schemas.canonical import MAX_SAFE_INTEGER

    if value is None or abs(value) > MAX_SAFE_INTEGER or not float(value).is_integer():
        return value
    return int(value)
