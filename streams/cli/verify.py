"""`headrace verify`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streams.cli import common, text
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.verify.report import Report


@click.command("verify")
@text.options
@click.option(
    "--scratch",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory for temporary data; default: the system's temporary directory.",
)
def command(scratch: Path | None) -> None:
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
    match text.form():
        case text.Form.JSON:
            common.echo(common.json_line(report_json(report)))
        case text.Form.TEXT:
            _show_text(report, text.new_page())
        case text.Form.PIPE:
            _show(report)
    if not report.clean:
        raise SystemExit(1)


def _show_text(report: Report, page: text.Page) -> None:
    counts = (("commands", report.commands), ("facts", report.facts), ("rows", report.rows))
    page.table(("verified", "count"), [(name, each.total()) for name, each in counts])
    if report.waiting:
        page.line(page.dash, f"{report.waiting:,} commands wait for others")
    if report.unchecked:
        page.line(page.dash, f"{report.unchecked:,} rest on records that are no longer on the log")
    if report.clean:
        page.line(page.joined(page.check(True), "clean", style="green"))
        return
    rows = [
        (page.check(False), page.plain(kind.value, "red"), page.plain(place), page.message(detail))
        for kind, place, detail in report.findings.shown
    ]
    page.table(("", "violation", "position", "what is wrong"), rows)
    total = report.findings.counts.total()
    if total > len(rows):
        page.line(f"{page.ellipsis} and {total - len(rows):,} more")
    page.line("What each violation means: docs/verify.md")


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
