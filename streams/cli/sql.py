"""`headrace sql`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streams.cli import common
from streams.errors import UsageError
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.cli.sql_session import Session

_FORMATS = ("table", "csv", "json", "jsonl", "markdown", "parquet", "arrow")
_SLOW_S = 1.0


@click.command("sql")
@click.argument("query", required=False)
@click.option("-f", "--file", type=click.File(), help="Read the query from this file.")
@click.option(
    "--from",
    "path",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Ask this export, as it is. Needs no broker.",
)
@click.option("--no-refresh", is_flag=True, help="Ask the export as it is.")
@common.after_option
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default="table",
    show_default=True,
    help="The form of the rows. A table has 1,000 at most, the others have all.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the rows to this file.",
)
@click.option("--explain", is_flag=True, help="Show the plan of the query instead of its rows.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="S",
    help="Longest time of a query, in seconds. Default: HEADRACE_SQL_TIMEOUT_S.",
)
@click.option(
    "--memory",
    type=click.IntRange(64),
    metavar="MIB",
    help="Memory of a query. Default: HEADRACE_SQL_MEMORY_MIB.",
)
def command(
    query: str | None,
    file: Any,
    path: Path | None,
    no_refresh: bool,
    after: str | None,
    form: str,
    out: Path | None,
    explain: bool,
    timeout: float | None,
    memory: int | None,
) -> None:
    """Ask the log in SQL.

    Without --from it first brings the export under the state directory up to date.  Without QUERY
    it opens a shell on a terminal, and reads the query from standard input elsewhere.  A query
    reads the export and nothing else, and writes nothing.  Needs the extra `analytics`.

    \b
    Examples:
      headrace sql "SELECT protocol, rule, count(*) FROM verdicts GROUP BY ALL"
      headrace sql --from lake --format csv -f report.sql --out report.csv
    """
    from streams.cli.sql_session import Session, run_shell

    if query is not None and file is not None:
        raise UsageError("give a query or --file, not both")
    if path is not None and (no_refresh or after is not None):
        raise UsageError("--from asks an export as it is, without --no-refresh or --after")
    if no_refresh and after is not None:
        raise UsageError("--no-refresh and --after exclude each other")
    if form in ("parquet", "arrow") and out is None and sys.stdout.isatty():
        raise UsageError(f"{form} is not for a terminal", advice="Give --out FILE, or a pipe.")
    settings = Settings.load()
    session = Session(
        path,
        settings,
        form=form,
        timeout_s=timeout or settings.sql_timeout_s,
        memory_mib=memory or settings.sql_memory_mib,
    )
    if file is not None:
        query = file.read()
    is_shell = query is None and sys.stdin.isatty()
    if path is None and not no_refresh:
        _refresh(session, after)
    with session:
        if is_shell:
            run_shell(session)
        else:
            session.run(sys.stdin.read() if query is None else query, out, plan=explain)


def _refresh(session: Session, after: str | None) -> None:
    started = time.monotonic()
    session.refresh(after)
    if (elapsed := time.monotonic() - started) > _SLOW_S:
        common.echo(f"brought the export up to date in {elapsed:.1f} s", err=True)
