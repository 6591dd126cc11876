"""`headrace summit verify`."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import click

from streams.cli import common
from streams.cli.summit.common import REJECTED, SummitCommand, json_option
from streams.settings import Settings

_TITLES = ("check", "result", "expected", "found", "source")


@click.command("verify", cls=SummitCommand)
@click.argument("run")
@json_option
@common.read_options
@click.pass_context
def command(ctx: click.Context, /, run: str, as_json: bool, after: str | None) -> None:
    """Read the records in a run's evidence again, and recompute its hashes.

    Exits with 1 when a hash differs, or its record is no longer on the log.

    \b
    Example:
      headrace summit verify run-7f2
    """
    path = f"/v1/summit/runs/{quote(run, safe='')}/evidence"
    answer = common.ask(path, common.query_of({"after": after}), Settings.load())
    checks = answer["checks"]
    if as_json:
        common.show_json(answer)
    else:
        rows: list[tuple[Any, ...]] = [
            tuple(check[title] or "-" for title in _TITLES) for check in checks
        ]
        common.show_table(_TITLES, rows)
    if any(check["result"] != "ok" for check in checks):
        ctx.exit(REJECTED)
