"""`headrace verify`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streams.cli import common
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.verify.report import Report


@click.command("verify")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option(
    "--scratch",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory for temporary data; default: the system's temporary directory.",
)
def command(as_json: bool, scratch: Path | None) -> None:
    """Verify the log: one verdict for each command, verdicts consistent with their evidence, rows
    consistent with the facts.

    Workers may run meanwhile.  Exits with 1 when there are violations.  docs/verify.md lists what
    is verified for each protocol, and what is not.

    \b
    Example:
      headrace verify
      headrace verify --json | jq .findings
    """
    from streams.verify.report import as_json as report_json
    from streams.verify.run import verify

    settings = Settings.load()
    with (
        common.connect(settings) as log,
        tempfile.TemporaryDirectory(prefix="headrace-verify-", dir=scratch) as folder,
    ):
        report = verify(log, settings, Path(folder))
    if as_json:
        common.echo(common.json_line(report_json(report)))
    else:
        _show(report)
    if not report.clean:
        raise SystemExit(1)


def _show(report: Report) -> None:
    for violation, position, detail in report.findings.shown:
        common.echo(f"{violation.value}  {position}  {detail}")
    total = report.findings.counts.total()
    if total > len(report.findings.shown):
        common.echo(f"… and {total - len(report.findings.shown)} more")
    rows = (("commands", report.commands), ("facts", report.facts), ("rows", report.rows))
    common.show_table(("verified", "count"), [(name, counts.total()) for name, counts in rows])
    if report.waiting:
        common.echo(f"{report.waiting} commands wait for others")
    if report.unchecked:
        common.echo(f"{report.unchecked} rest on records that the log keeps no more: not verified")
    summary = ", ".join(
        f"{count} {violation.value}" for violation, count in report.findings.counts.items()
    )
    common.echo(f"found: {summary}" if summary else "clean")
