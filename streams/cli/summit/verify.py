"""`headrace summit verify`."""

from __future__ import annotations

from typing import Any

import click

from streams.cli import common
from streams.cli.summit.common import REJECTED, SummitCommand, json_option
from streams.settings import Settings

_TITLES = ("check", "result", "expected", "found", "source")


@click.command("verify", cls=SummitCommand)
@click.argument("run")
@json_option
@common.after_option
@click.pass_context
def command(ctx: click.Context, /, run: str, as_json: bool, after: str | None) -> None:
    """Read the records in a run's evidence again, and recompute its hashes.

    Exits with 1 when a hash differs, or its record is no longer on the log.

    \b
    Example:
      headrace summit verify run-7f2
    """
    from streams.log import fetching
    from streams.protocols.summit.queries import runs
    from streams.protocols.summit.queries.agents import manifest_reader
    from streams.protocols.summit.queries.evidence import checks

    with common.open_log_and_view(Settings.load(), after) as (log, view):
        results = checks(runs.run(view, run), fetching.records_of(log), manifest_reader(view))
    if as_json:
        common.show_json({"runId": run, "checks": [check._asdict() for check in results]})
    else:
        rows: list[tuple[Any, ...]] = [tuple(cell or "-" for cell in check) for check in results]
        common.show_table(_TITLES, rows)
    if any(check.result != "ok" for check in results):
        ctx.exit(REJECTED)
