"""`headrace export`."""

from __future__ import annotations

import time
from pathlib import Path

import click

from streams.cli import common
from streams.settings import Settings


@click.group("export")
def command() -> None:
    """Write the log into files that other programs read.

    \b
    Example:
      headrace export parquet --into lake
    """


@command.command("parquet")
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    metavar="DIR",
    required=True,
    help="The folder; made if it does not exist.",
)
@click.option(
    "--topics",
    metavar="NAME,…",
    help="Only these topics. Without it all of commands, facts, audit records and tables, and the"
    " edges; inboxes can be named.",
)
@click.option(
    "--offsets-per-file",
    type=click.IntRange(1, 1 << 40),
    default=1 << 17,
    show_default=True,
    help="How many offsets of a partition a file holds; the same in each export into a folder.",
)
@click.option("--accept-gap", is_flag=True, help="Go on after records that the log has lost.")
def parquet(into: Path, topics: str | None, offsets_per_file: int, accept_gap: bool) -> None:
    """Write topics as Parquet files: the columns of records, for SQL, pandas or polars.

    The next export into the folder adds what is new, each record once, also when this one is
    killed.  Tables are written anew where they have changed.  Ends with 1 if a record could not be
    decoded, after all others.  Needs the extra `analytics`.

    \b
    Example:
      headrace export parquet --into lake
      headrace export parquet --into lake --topics apc.events,lineage.edges
    """
    from streams.analytics.export import Options, export, selected

    settings = Settings.load()
    undecodable: list[str] = []

    def report(position: str) -> None:
        undecodable.append(position)
        common.echo(f"undecodable {position}", err=True)

    options = Options(
        [name.strip() for name in topics.split(",")] if topics else (),
        offsets_per_file,
        accept_gap,
        on_gap=lambda line: common.echo(line, err=True),
        on_undecodable=report,
    )
    width = max(len(topic.name) for topic in selected(options.names))
    started, exported, count = time.monotonic(), 0, 0
    with common.connect(settings) as log:
        for done in export(log, settings.prefix, into, options):
            common.echo(f"{done.name:<{width}}  {done}")
            exported, count = exported + done.new, count + 1
    elapsed = time.monotonic() - started
    rate = f"{exported / elapsed:,.0f} records/s"
    common.echo(
        f"exported {exported:,} records of {count} topics into {into} in {elapsed:.1f} s ({rate})"
    )
    if undecodable:
        raise SystemExit(1)
