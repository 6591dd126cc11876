"""The code that `headrace summit invoke` and `headrace summit call-tool` share."""

from __future__ import annotations

import uuid
from typing import Any

import click

from streams.cli import common, lists, text
from streams.cli.summit.common import REJECTED
from streams.cli.summit.rpc import open_rpc, result_of
from streams.cli.summit.states import state_cell
from streams.settings import Settings


def options(function: Any) -> Any:
    """Add the options of every call."""
    for option in (
        text.options,
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


def call(
    ctx: click.Context, method: str, params: dict[str, Any], call_options: dict[str, Any]
) -> None:
    """Start a run, and print its id on stderr and its result; exit with 1 unless it completes."""
    run_id = f"cli-{uuid.uuid4()}" if call_options["run_id"] is None else call_options["run_id"]
    context = _omit_empty(
        traceId=call_options["trace"],
        parentRunId=call_options["parent"],
        budget=_omit_empty(
            **{name: _whole_number(call_options[name]) for name in ("usd", "tokens", "seconds")}
        ),
    )
    call_params = {**params, "runId": run_id, **_omit_empty(context=context)}
    wait = {} if call_options["wait"] is None else {"Prefer": f"wait={call_options['wait']}"}
    common.echo(run_id, err=True)
    with open_rpc(Settings.load()) as ask:
        result = result_of(ctx, ask(method, call_params, wait))
    text.show(result, _render)
    if "error" in result:
        ctx.exit(REJECTED)


def _render(result: Any, page: text.Page) -> None:
    if "status" in result:
        page.line(state_cell(result["status"], page))
    for name, value in result.items():
        if name != "status":
            page.line(page.plain(name, "bold"))
            lists.show_value(page, value, indent=2)


def _omit_empty(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value not in (None, {})}


def _whole_number(value: float | None) -> float | None:
    """Return 1.0 as 1; leave a number above the safe integers for the rules to refuse."""
    from schemas.canonical import MAX_SAFE_INTEGER

    if value is None or abs(value) > MAX_SAFE_INTEGER or not float(value).is_integer():
        return value
    return int(value)
