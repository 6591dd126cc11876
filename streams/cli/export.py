"""`headrace export`."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import click

from streams.cli import INTERRUPTED, common
from streams.settings import Settings

OFF = "off"
_GROUP = re.compile(r"[A-Za-z0-9._-]{1,100}")


@click.group("export")
def command() -> None:
    """Write the log in the forms that other programs read.

    \b
    Examples:
      headrace export parquet --into lake
      OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 headrace export otlp
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
@click.option(
    "--as-of",
    metavar="POINT",
    help="Only what counts at a time or a position, into an empty folder; without tables.",
)
@click.option("--accept-gap", is_flag=True, help="Go on after records that the log has lost.")
def parquet(
    into: Path,
    topics: str | None,
    offsets_per_file: int,
    as_of: str | None,
    accept_gap: bool,
) -> None:
    """Write topics as Parquet files: the columns of records, for SQL, pandas or polars.

    The next export into the folder adds what is new, each record once, also when this one is
    killed.  Tables are written anew where they have changed.  Ends with 1 if a record could not be
    decoded, after all others.  Needs the extra `analytics`.

    \b
    Example:
      headrace export parquet --into lake
      headrace export parquet --into lake --topics apc.events,lineage.edges
      headrace export parquet --into january --as-of 2026-02-01T00:00:00Z
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
        as_of,
        on_gap=lambda line: common.echo(line, err=True),
        on_undecodable=report,
    )
    width = max(len(topic.name) for topic in selected(options.names))
    started, exported, count = time.monotonic(), 0, 0
    with common.connect(settings) as log:
        for done in export(log, settings.prefix, into, options):
            common.echo(f"{done.name:<{width}}  {done}")
            exported, count = exported + done.new, count + (not done.is_left_out)
    elapsed = time.monotonic() - started
    rate = f"{exported / elapsed:,.0f} records/s"
    common.echo(
        f"exported {exported:,} records of {count} topics into {into} in {elapsed:.1f} s ({rate})"
    )
    if undecodable:
        raise SystemExit(1)


@command.command("otlp")
@click.option(
    "--from",
    "start",
    type=click.Choice(["earliest", "latest"]),
    default="latest",
    show_default=True,
    help="Where a group begins that has exported nothing yet.",
)
@click.option("--until-end", is_flag=True, help="Stop at the ends that the topics have now.")
@click.option("--group", metavar="NAME", help="A group of its own, for a second backend.")
@click.option("--bootstrap", metavar="HOST:PORT", help="Overrides HEADRACE_BOOTSTRAP.")
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Overrides HEADRACE_STATE_DIR.",
)
@click.option(
    "--metrics", metavar="HOST:PORT|off", help="Overrides HEADRACE_METRICS; off serves none."
)
@click.pass_context
def otlp(
    ctx: click.Context,
    /,
    start: str,
    until_end: bool,
    group: str | None,
    metrics: str | None,
    **overrides: Any,
) -> None:
    """Send spans of commands, verdicts and deliveries to a backend of OpenTelemetry.

    Reads the variables that OpenTelemetry specifies, such as OTEL_EXPORTER_OTLP_ENDPOINT.  Runs
    until Ctrl-C or SIGTERM, and goes on from there the next time.  Processes of one group share the
    work.  Ends with 1 if the backend has refused spans.  Needs the extra `otel`.

    \b
    Examples:
      OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 headrace export otlp
      headrace export otlp --from earliest --until-end --group phoenix
    """
    from streams.settings import otlp_export
    from streams.settings.composed import environment_without
    from streams.settings.service import PREFIX
    from streams.telemetry import logs

    if group is not None and not _GROUP.fullmatch(group):
        message = "a name has up to 100 letters, digits, `.`, `_` and `-`"
        raise click.BadParameter(message, param_hint="--group")
    export_settings = otlp_export.load(environment_without(PREFIX))
    from streams.doors.otlp.exporter.export import Options, export

    settings = Settings.load(
        **{name: value for name, value in overrides.items() if value is not None}
    )
    logs.configure(settings)
    address = settings.metrics if metrics is None else metrics
    address = None if address == OFF else address

    def report(name: str) -> None:
        common.echo(f"exporting spans as group {name}", err=True)

    options = Options(group, start == "latest", until_end, address, report)
    with common.interrupts() as interrupted, common.connect(settings) as log:
        exported = export(log, settings.prefix, export_settings, options, interrupted.is_set)
    sent = exported.sent
    common.echo(f"exported {sent.exported} spans, {sent.refused} refused")
    if until_end and not exported.is_complete:
        ctx.exit(INTERRUPTED)
    if sent.refused:
        ctx.exit(1)
