"""`headrace sink`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streams.cli import INTERRUPTED, common
from streams.settings import Settings
from streams.telemetry.progress import Bar, is_terminal, progress

if TYPE_CHECKING:
    from streams.ops.sink import Progress, Sink

_EVERY_S = 5.0


@click.group("sink")
def command() -> None:
    """Copy turns and events into a database file.

    \b
    Example:
      headrace sink sqlite --db agents.db
    """


@command.command("sqlite")
@click.option(
    "--db",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    required=True,
    help="The file; created if it does not exist.",
)
@click.option("--once", is_flag=True, help="Stop at the current end of the log.")
@click.option("--accept-gap", is_flag=True, help="Continue after records that the log has lost.")
@click.pass_context
def sqlite(ctx: click.Context, db: Path, once: bool, accept_gap: bool) -> None:
    """Write rtes.events and saop.log into an SQLite file, every record exactly once.

    The file stores its own positions, so you can stop, kill and restart the command.
    It runs until Ctrl-C or SIGTERM.  Tables: tasks, agent_logs and the view turns_in_order.

    \b
    Example:
      headrace sink sqlite --db agents.db --once
      sqlite3 agents.db 'SELECT task_id, turn_index, agent_id FROM turns_in_order'
    """
    from streams.ops.sink import Sink

    settings = Settings.load()
    with common.interrupts() as interrupted, common.connect(settings) as log:
        sink = Sink(log, db, settings.prefix, accept_gap=accept_gap, on_gap=_print_status)
        with sink, progress("sink") as bar:
            reporter = _ProgressReporter(sink, bar)
            done = sink.run(once, interrupted.is_set, reporter.report)
            reporter.end()
    if once and not done:
        ctx.exit(INTERRUPTED)


def _print_status(line: str) -> None:
    common.echo(line, err=True)


class _ProgressReporter:
    """Reports progress: by a bar on a terminal, else by a line from time to time."""

    def __init__(self, sink: Sink, bar: Bar) -> None:
        self._sink = sink
        self._bar = bar
        self._last = time.monotonic()
        self._records = self._reported = 0

    def report(self, progress: Progress) -> None:
        self._records = progress.records
        self._bar.reach(progress.records, progress.records + progress.left)
        now = time.monotonic()
        if not is_terminal() and now - self._last >= _EVERY_S and self._records > self._reported:
            rate = (self._records - self._reported) / (now - self._last)
            _print_status(f"{self._records} records, {rate:.0f}/s, {progress.left} left")
            self._last, self._reported = now, self._records

    def end(self) -> None:
        _print_status(f"{self._records} records written")
